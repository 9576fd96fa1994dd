"""What selections, reductions and losses save, and that unread values may be overwritten."""

from __future__ import annotations

from typing import Any

from ..api import Api
from ..expect import equal, same, true
from ..instruments import Recorder
from ..statement import statement, tensorplay_1_0
from .saved_sets import saved

TOPIC = "hooks: what is saved"


def _vector(api: Api) -> Any:
    return api.leaf([0.5, 1.5, 2.5])


@tensorplay_1_0("saves the values, too", shows="found ['a', 'int64']")
@statement(TOPIC, 4)
def an_index_is_saved_as_it_is(api: Api) -> None:
    """Indexing with an integer tensor saves that int64 tensor, through the hooks, and no value."""
    index = api.tensor([0, 2])
    same(saved(api, lambda a: a[index], _vector(api)), ["int64"], "saved")


@tensorplay_1_0("saves the values, too", shows="found ['a', 'int64']")
@statement(TOPIC, 4)
def index_select_saves_its_index(api: Api) -> None:
    """index_select saves its int64 index only."""
    index = api.tensor([0, 2])
    same(saved(api, lambda a: a.index_select(0, index), _vector(api)), ["int64"], "saved")


@tensorplay_1_0(
    "saves values and positions instead of the mask", shows="['a', 'a', 'int64', 'result']"
)
@statement(TOPIC, 4)
def a_boolean_mask_is_saved_as_it_is(api: Api) -> None:
    """Indexing with a boolean mask saves the mask only."""
    a = _vector(api)
    mask = a.detach() > 1.0
    same(saved(api, lambda a: a[mask], a), ["bool"], "saved")


@tensorplay_1_0("saves both branches, too", shows="found ['a', 'b', 'bool']")
@statement(TOPIC, 4)
def where_saves_its_condition(api: Api) -> None:
    """where saves its condition and neither branch."""
    a, b = _vector(api), _vector(api)
    mask = a.detach() > 1.0
    same(saved(api, lambda a, b: api.where(mask, a, b), a, b), ["bool"], "saved")


@tensorplay_1_0("saves the values, too", shows="found ['a', 'bool']")
@statement(TOPIC, 4)
def masked_fill_saves_its_mask(api: Api) -> None:
    """masked_fill saves its mask only."""
    a = _vector(api)
    mask = a.detach() > 1.0
    same(saved(api, lambda a: a.masked_fill(mask, 0.0), a), ["bool"], "saved")


@tensorplay_1_0("saves the values, too", shows="found ['a', 'int64']")
@statement(TOPIC, 4)
def max_along_a_dimension_saves_its_indices(api: Api) -> None:
    """max over one dimension saves the int64 indices it found, and no value."""
    a = api.leaf([[1.0, 2.0], [4.0, 3.0]])
    same(saved(api, lambda a: a.max(1)[0], a), ["int64"], "saved")


@statement(TOPIC, 4)
def max_of_all_saves_input_and_result(api: Api) -> None:
    """max over everything saves its input and its result, which are compared in backward."""
    same(saved(api, lambda a: a.max(), _vector(api)), ["a", "result"], "saved")


@statement(TOPIC, 4)
def var_saves_its_input(api: Api) -> None:
    """var saves its input only."""
    same(saved(api, lambda a: a.var(), _vector(api)), ["a"], "saved")


@statement(TOPIC, 4)
def reductions_read_by_their_result_save_both(api: Api) -> None:
    """prod, std, norm and logsumexp save their input and their result."""
    operations = {
        "prod": lambda a: a.prod(),
        "std": lambda a: a.std(),
        "norm": lambda a: a.norm(),
        "logsumexp": lambda a: a.logsumexp(0),
    }
    for name, operation in operations.items():
        same(saved(api, operation, _vector(api)), ["a", "result"], f"saved by {name}")


@statement(TOPIC, 4)
def maximum_saves_both_operands(api: Api) -> None:
    """maximum(a, b) saves both operands, which are compared in backward."""
    same(
        saved(api, lambda a, b: api.maximum(a, b), _vector(api), _vector(api)), ["a", "b"], "saved"
    )


@tensorplay_1_0("saves three temporaries, too", shows="'something else']")
@statement(TOPIC, 4)
def mse_loss_saves_its_two_inputs(api: Api) -> None:
    """mse_loss saves prediction and target, and no temporary."""
    target = api.constant([0.0, 0.0, 0.0])
    found = saved(api, api.functional.mse_loss, _vector(api), target)
    same(found, ["a", "b"], "saved")


@statement(TOPIC, 4)
def gather_saves_its_index(api: Api) -> None:
    """gather sends its int64 index through the hooks."""
    index = api.tensor([0, 2])
    found = saved(api, lambda a: a.gather(0, index), _vector(api))
    true("int64" in found, f"the index was not packed: {found}")


@tensorplay_1_0("saves and checks it needlessly", shows="modified by an inplace operation")
@statement(TOPIC, 10)
def the_input_of_a_sum_may_be_overwritten(api: Api) -> None:
    """sum saves nothing, so its input may be changed in place before backward."""
    x = api.leaf([1.0, 2.0])
    h = x * 1.0
    y = h.sum()
    with api.no_grad():
        h.add_(1.0)
    y.backward()
    equal(api, x.grad, [1.0, 1.0])


@tensorplay_1_0("saves and checks it needlessly", shows="modified by an inplace operation")
@statement(TOPIC, 10)
def the_input_of_a_mean_may_be_overwritten(api: Api) -> None:
    """mean saves nothing, so its input may be changed in place before backward."""
    x = api.leaf([1.0, 2.0])
    h = x * 1.0
    y = h.mean()
    with api.no_grad():
        h.add_(1.0)
    y.backward()
    equal(api, x.grad, [0.5, 0.5])


@tensorplay_1_0("saves and checks them needlessly", shows="modified by an inplace operation")
@statement(TOPIC, 10)
def the_pieces_of_a_cat_may_be_overwritten(api: Api) -> None:
    """cat saves nothing, so its pieces may be changed in place before backward."""
    x = api.leaf([1.0, 2.0])
    h = x * 3.0
    y = api.cat([h, h])
    with api.no_grad():
        h.zero_()
    y.sum().backward()
    equal(api, x.grad, [6.0, 6.0])


@tensorplay_1_0("saves and checks it needlessly", shows="modified by an inplace operation")
@statement(TOPIC, 10)
def the_partner_of_a_constant_may_be_overwritten(api: Api) -> None:
    """h * c saves c only, so h may be changed in place before backward."""
    x, c = api.leaf([1.0, 2.0]), api.constant([5.0, 7.0])
    h = x * 1.0
    y = h * c
    with api.no_grad():
        h.zero_()
    y.sum().backward()
    equal(api, x.grad, [5.0, 7.0])


@statement(TOPIC, 10)
def the_input_of_exp_may_be_overwritten(api: Api) -> None:
    """exp saves its output, so its input may be changed in place before backward."""
    x = api.leaf([0.0, 0.0])
    h = x * 1.0
    y = h.exp()
    with api.no_grad():
        h.add_(9.0)
    y.sum().backward()
    equal(api, x.grad, [1.0, 1.0])


@tensorplay_1_0("saves and checks them needlessly", shows="modified by an inplace operation")
@statement(TOPIC, 10)
def the_branches_of_where_may_be_overwritten(api: Api) -> None:
    """where saves its condition only, so both branches may be changed in place before backward."""
    x = api.leaf([1.0, 2.0])
    h = x * 3.0
    y = api.where(api.tensor([True, False]), h, h * 2.0)
    with api.no_grad():
        h.zero_()
    y.sum().backward()
    equal(api, x.grad, [3.0, 6.0])


@tensorplay_1_0("packs the inputs of reshape and sum", shows="found (2, 2)")
@statement(TOPIC, 4)
def a_value_that_backward_does_not_need_is_not_kept(api: Api) -> None:
    """A chain of x + 1, reshape, sum and times 2 packs nothing at all."""
    recorder = Recorder()
    x = api.leaf([[1.0, 2.0]])
    with api.hooks(recorder.pack, recorder.unpack):
        y = (x + 1.0).reshape(2).sum() * 2.0
    y.backward()
    same(recorder.counts, (0, 0), "calls of pack and unpack")
    equal(api, x.grad, [[2.0, 2.0]])
