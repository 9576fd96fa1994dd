"""autograd: recording operations and walking back through them."""
