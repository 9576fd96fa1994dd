"""Every built-in operation, each a small class with forward, backward and a "Saves:" line.

operation: the base; promotion, dims, temporaries: what all use; elementwise: the short paths.
arithmetic, unary, rounding, activation, comparison, selection: one result for each element.
reduction, norm, extremum, softmax: many elements into one. shape: views; join, index: copies.
matmul, einsum, convolution, layers, loss: what networks are made of. inplace: writing in place.
move: other devices.
"""
