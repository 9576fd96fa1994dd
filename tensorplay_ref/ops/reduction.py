from __future__ import annotations

import numpy as np

from .operation import Operation, View


class Expand(View):
    @staticmethod
    def forward(x, shape):
        return np.broadcast_to(x, shape)

    def backward(self, grad):
        return grad


class Sum(Operation):
    @staticmethod
    def forward(x, dim, keepdim):
        return x.sum(axis=dim, keepdims=keepdim)

    def save(self, result, x):
        self.params = (x.shape, *self.params)

    def backward(self, grad):
        shape, dim, keepdim = self.params
        return Expand.apply(grad, shape)
