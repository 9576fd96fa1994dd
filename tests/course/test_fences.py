"""Solutions between fences become stubs, and wrong fences are refused with a reason."""

import ast
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorplay_ref.course.fences import FenceError, regions, solution_lines, stub


def source(text: str) -> str:
    return textwrap.dedent(text).strip("\n")


FUNCTION = source(
    '''
    def double(x):
        """Twice x."""
        ### BEGIN SOLUTION
        result = 2 * x  # why not

        # a remark
        return result
        ### END SOLUTION
    '''
)
CLASS = source(
    '''
    class Storage:
        """A buffer."""

        def bump(self):
            """Count one write."""
            before = self.version
            ### BEGIN SOLUTION
            self.version += 1
            ### END SOLUTION
            return before

        def reset(self):
            """Forget the writes."""
            with self.lock:
                ### BEGIN SOLUTION
                self.version = 0
                ### END SOLUTION
    '''
)


def test_a_function_keeps_its_signature_and_docstring() -> None:
    assert stub(FUNCTION) == source(
        '''
        def double(x):
            """Twice x."""
            raise NotImplementedError("your turn: double")
        '''
    )


def test_methods_keep_what_is_around_the_fences() -> None:
    assert stub(CLASS) == source(
        '''
        class Storage:
            """A buffer."""

            def bump(self):
                """Count one write."""
                before = self.version
                raise NotImplementedError("your turn: Storage.bump")
                return before

            def reset(self):
                """Forget the writes."""
                with self.lock:
                    raise NotImplementedError("your turn: Storage.reset")
        '''
    )


def test_the_inner_function_is_the_one_to_write() -> None:
    text = source(
        '''
        def outer():
            """Make inner."""

            def inner():
                """Do it."""
                ### BEGIN SOLUTION
                return 1
                ### END SOLUTION

            return inner
        '''
    )
    assert 'raise NotImplementedError("your turn: outer.inner")' in stub(text)


def test_values_at_the_top_of_a_cell_are_left_open() -> None:
    text = source(
        """
        names = ["pack", "unpack"]
        ### BEGIN SOLUTION
        order: list[str] = [
            "unpack",
            "pack",
        ]
        count = len(order)
        ### END SOLUTION
        check(order, count)
        """
    )
    assert stub(text) == source(
        """
        names = ["pack", "unpack"]
        order: list[str] = ...
        count = ...
        check(order, count)
        """
    )


def test_class_attributes_are_left_open() -> None:
    text = "class Policy:\n    ### BEGIN SOLUTION\n    bits = 8\n    ### END SOLUTION"
    assert stub(text) == "class Policy:\n    bits = ..."


def test_solution_lines_are_the_code_between_the_fences() -> None:
    assert solution_lines(FUNCTION) == ["result = 2 * x  # why not", "return result"]


def test_a_cell_without_fences_stays_as_it_is() -> None:
    assert stub("x = (") == "x = ("


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("### BEGIN SOLUTION\nx = 1", "line 1: '### BEGIN SOLUTION' is never closed"),
        ("x = 1\n### END SOLUTION", "line 2: '### END SOLUTION' without its partner"),
        ("### BEGIN SOLUTION\n### BEGIN SOLUTION\nx = 1\n### END SOLUTION", "line 2"),
        ("### BEGIN SOLUTION\n# nothing\n\n### END SOLUTION", "no code between the fences"),
        ("# BEGIN SOLUTION\nx = 1\n### END SOLUTION", "should be '### BEGIN SOLUTION'"),
        ("### begin solution\nx = 1\n### END SOLUTION", "should be"),
        ("### BEGIN SOLUTION:\nx = 1\n### END SOLUTION", "should be"),
        ("### BEGIN HIDDEN TESTS\nx = 1\n### END HIDDEN TESTS", "should be"),
        ("### BEGIN SOLUTION\nprint(1)\n### END SOLUTION", "only give values to names"),
        ("### BEGIN SOLUTION\na = b = 1\n### END SOLUTION", "only give values to names"),
        ("### BEGIN SOLUTION\na.b = 1\n### END SOLUTION", "only give values to names"),
        ("### BEGIN SOLUTION\ndef f():\n    return 1\n### END SOLUTION", "inside the function"),
        ("if x:\n    ### BEGIN SOLUTION\n    y = 1\n    ### END SOLUTION", "inside a block"),
        ("def f():\n    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION", "no docstring"),
        ('def f():\n    """F."""\n### BEGIN SOLUTION\n    return 1\n### END SOLUTION', "indented"),
        ("### BEGIN SOLUTION\nx = = 1\n### END SOLUTION", "line 2: invalid syntax"),
        (
            'def f():\n    """F."""\n    ### BEGIN SOLUTION\n    return 1\n\n\ndef g():\n'
            "    return 2\n    ### END SOLUTION",
            "inside the function",
        ),
    ],
)
def test_wrong_fences_are_refused(text: str, reason: str) -> None:
    with pytest.raises(FenceError) as refusal:
        stub(text)
    assert reason in str(refusal.value)


@given(
    before=st.lists(st.sampled_from(["a = 1", "", "# note", "if a:\n        a = 2"]), max_size=3),
    inside=st.lists(st.sampled_from(["b = 7001", "for i in c:\n        d(7002)"]), min_size=1),
    after=st.lists(st.sampled_from(["e = 1", "", "return e"]), max_size=2),
)
def test_what_is_outside_stays_and_what_is_inside_goes(
    before: list[str], inside: list[str], after: list[str]
) -> None:
    def function(*body: str) -> str:
        head = ["@decorate", "async def f(a):", '    """F."""']
        return "\n".join(head + [f"    {line}" for line in body])

    worked = function(*before, "### BEGIN SOLUTION", *inside, "### END SOLUTION", *after)
    assert stub(worked) == function(*before, 'raise NotImplementedError("your turn: f")', *after)
    ast.parse(stub(worked))
    assert regions(stub(worked)) == []
