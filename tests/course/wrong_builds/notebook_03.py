"""Wrong builds of notebook 03."""

from types import ModuleType
from typing import Any

import numpy as np

import tensorplay_ref as tp
from tests.course.builds import wrong


@wrong("03.topological_order", says="node h stands before node minus")
def visits_depth_first_and_lists_on_the_way_down(lesson: ModuleType) -> tuple[Any, ...]:
    def order(root: Any, below: Any) -> list[Any]:
        found: list[Any] = []
        waiting = [root]
        while waiting:
            node = waiting.pop()
            if node not in found:
                found.append(node)
                waiting.extend(reversed(below(node)))
        return found

    return (order,)


@wrong("03.topological_order", says="node h stands before node square")
def visits_breadth_first(lesson: ModuleType) -> tuple[Any, ...]:
    def order(root: Any, below: Any) -> list[Any]:
        found = {root: None}
        waiting = [root]
        for node in waiting:
            for following in below(node):
                if following not in found:
                    found[following] = None
                    waiting.append(following)
        return list(found)

    return (order,)


@wrong("03.topological_order", says="it calls itself without end, a RecursionError")
def recurses(lesson: ModuleType) -> tuple[Any, ...]:
    def order(root: Any, below: Any) -> list[Any]:
        finished: dict[Any, None] = {}

        def visit(node: Any) -> None:
            if node not in finished:
                for following in below(node):
                    visit(following)
                finished[node] = None

        visit(root)
        return list(reversed(finished))

    return (order,)


@wrong("03.topological_order", says="node x stands before node a")
def forgets_to_reverse_the_list(lesson: ModuleType) -> tuple[Any, ...]:
    def order(root: Any, below: Any) -> list[Any]:
        return list(reversed(lesson.topological_order(root, below)))

    return (order,)


@wrong("03.topological_order", says="nodes are visited again and again")
def remembers_no_node(lesson: ModuleType) -> tuple[Any, ...]:
    def order(root: Any, below: Any) -> list[Any]:
        last: dict[Any, None] = {}
        waiting = [root]
        for node in waiting:
            last.pop(node, None)
            last[node] = None
            waiting.extend(below(node))
        return list(last)

    return (order,)


def walk(lesson: ModuleType, *, adds: bool = True, frees: bool = True, copies: bool = True) -> Any:
    """The walk of the lesson with one of its parts left out."""

    def backward(y: Any, retain_graph: bool = False) -> None:
        pending = {y.grad_fn: tp.ones_like(y)}
        for node in sorted(lesson.reachable(y.grad_fn), key=lambda n: -n.sequence_number):
            gradient = pending.pop(node)
            if node.name() == "AccumulateGrad":
                leaf = node.variable
                own = gradient.clone() if copies else gradient
                leaf.grad = own if leaf.grad is None else leaf.grad + own
                continue
            with tp.no_grad():
                for below, part in lesson.handed_down(node, gradient):
                    known = pending.get(below) if adds else None
                    pending[below] = part if known is None else known + part
            if frees and not retain_graph:
                node.release()

    return backward


@wrong("03.backward", says="input 0 of h*h + 3*h + h, where h = x*x")
def assigns_instead_of_adding(lesson: ModuleType) -> tuple[Any, ...]:
    return (walk(lesson, adds=False),)


@wrong("03.backward", says="the tensor that the product saved is still alive")
def never_frees(lesson: ModuleType) -> tuple[Any, ...]:
    return (walk(lesson, frees=False),)


@wrong("03.backward", says="after a.grad.zero_(), b.grad is [0.0, 0.0]")
def hands_out_one_buffer_twice(lesson: ModuleType) -> tuple[Any, ...]:
    return (walk(lesson, copies=False),)


@wrong("03.backward", says="Trying to backward through the graph a second time")
def frees_in_spite_of_retain_graph(lesson: ModuleType) -> tuple[Any, ...]:
    return (lambda y, retain_graph=False: lesson.backward(y),)


@wrong("03.backward", says="the gradient after this many backwards is 4.0, expected 8.0")
def overwrites_the_gradient_of_the_last_backward(lesson: ModuleType) -> tuple[Any, ...]:
    def backward(y: Any, retain_graph: bool = False) -> None:
        for node in lesson.reachable(y.grad_fn):
            if node.name() == "AccumulateGrad":
                node.variable.grad = None
        lesson.backward(y, retain_graph)

    return (backward,)


def projection(
    *, ones: bool = False, forward: bool = False, into_grad: bool = False, direction: bool = True
) -> Any:
    """The check by projection with one thing done wrong."""

    def projected_gradcheck(function: Any, x: Any, rng: Any) -> Any:
        step = 1e-6
        y = function(x)
        v = tp.tensor(np.ones(x.shape) if ones else rng.standard_normal(x.shape))
        u = tp.tensor(np.ones(y.shape) if ones else rng.standard_normal(y.shape))
        if into_grad:
            y.backward(u)
            gradient = x.grad
        else:
            (gradient,) = tp.autograd.grad(y, x, u)
        analytic = (gradient * v).sum().item() if direction else gradient.sum().item()
        with tp.no_grad():
            ahead = (function(x + step * v) * u).sum().item()
            behind = ((y if forward else function(x - step * v)) * u).sum().item()
        numerical = (ahead - behind) / (step if forward else 2 * step)
        return abs(numerical - analytic) <= 1e-5 * (1 + abs(numerical))

    return projected_gradcheck


@wrong("03.projected_gradcheck", says="that forgets the gradient that came in is True")
def projects_on_ones(lesson: ModuleType) -> tuple[Any, ...]:
    return (projection(ones=True),)


@wrong("03.projected_gradcheck", says="the answer for cos(300 x) is False, expected True")
def takes_a_one_sided_difference(lesson: ModuleType) -> tuple[Any, ...]:
    return (projection(forward=True),)


@wrong("03.projected_gradcheck", says="asked about the same x, the second answer is False")
def reads_the_gradient_of_earlier_backwards(lesson: ModuleType) -> tuple[Any, ...]:
    return (projection(into_grad=True),)


@wrong("03.projected_gradcheck", says="the answer for exp is False, expected True")
def projects_the_difference_only(lesson: ModuleType) -> tuple[Any, ...]:
    return (projection(direction=False),)


@wrong("03.projected_gradcheck", says="that is 1 percent too large is True, expected False")
def believes_everything(lesson: ModuleType) -> tuple[Any, ...]:
    return (lambda function, x, rng: True,)


@wrong("03.projected_gradcheck", says="function called")
def differentiates_element_by_element(lesson: ModuleType) -> tuple[Any, ...]:
    return (lambda function, x, rng: tp.autograd.gradcheck(function, (x,), raise_exception=False),)
