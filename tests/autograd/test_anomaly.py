"""detect_anomaly: a NaN stops the backward where it is made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tests.autograd.tools import equal, function, leaf

autograd = tp.autograd


def makes_nan(x: Any) -> Any:
    return (x * 0.0).sqrt() * 0.0


def test_the_operation_and_the_forward_call_are_named() -> None:
    x = leaf([2.0])
    with autograd.detect_anomaly():
        y = makes_nan(x).sum()
        with pytest.raises(RuntimeError) as caught:
            y.backward()
    text = str(caught.value)
    assert "Function 'SqrtBackward' returned nan values in its 0th output." in text
    assert "makes_nan" in text and "test_anomaly.py" in text
    assert x.grad is None and not autograd.is_anomaly_enabled()


def test_without_it_the_nan_goes_through() -> None:
    x = leaf([2.0])
    makes_nan(x).sum().backward()
    assert np.isnan(float(x.grad))


def test_a_graph_recorded_outside_is_checked_but_has_no_call_to_show() -> None:
    y = makes_nan(leaf([2.0])).sum()
    with autograd.detect_anomaly(), pytest.raises(RuntimeError) as caught:
        y.backward()
    assert "recorded by" not in str(caught.value)


def test_the_check_may_be_left_out() -> None:
    x = leaf([2.0])
    with autograd.detect_anomaly(check_nan=False):
        assert autograd.is_anomaly_enabled() and not autograd.is_anomaly_check_nan_enabled()
        makes_nan(x).sum().backward()
    assert autograd.is_anomaly_check_nan_enabled()


def test_infinities_and_missing_gradients_are_no_anomaly() -> None:
    x = leaf([0.0])
    with autograd.detect_anomaly():
        x.sqrt().sum().backward()
        function(lambda ctx, x: x * 1.0, lambda ctx, grad: None).apply(x).backward()
    equal(x.grad, [np.inf])


def test_custom_functions_are_checked() -> None:
    f = function(lambda ctx, x: x * 1.0, lambda ctx, grad: grad * float("nan"), name="Bad")
    with autograd.detect_anomaly(), pytest.raises(RuntimeError, match="'BadBackward'"):
        f.apply(leaf([1.0])).backward()


def test_it_nests_and_restores() -> None:
    context = autograd.detect_anomaly()
    with context:
        with context, autograd.set_detect_anomaly(False):
            assert not autograd.is_anomaly_enabled()
        assert autograd.is_anomaly_enabled()
    assert not autograd.is_anomaly_enabled()
    with pytest.raises(KeyError), autograd.detect_anomaly():
        raise KeyError
    assert not autograd.is_anomaly_enabled()


def test_set_detect_anomaly_acts_at_once_and_notes_the_calls() -> None:
    autograd.set_detect_anomaly(True)
    try:
        y = makes_nan(leaf([2.0])).sum()
        with pytest.raises(RuntimeError, match="SqrtBackward") as caught:
            y.backward()
    finally:
        autograd.set_detect_anomaly(False)
    assert "makes_nan" in str(caught.value)
    assert makes_nan(leaf([2.0])).grad_fn.node_extras is None
    with autograd.set_detect_anomaly(True):
        assert autograd.is_anomaly_enabled()
    assert not autograd.is_anomaly_enabled()
