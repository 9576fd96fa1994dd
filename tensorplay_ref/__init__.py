"""tensorplay_ref: TensorPlay's saved-tensor machinery on NumPy, small enough to read.

    import tensorplay_ref as tp
"""
