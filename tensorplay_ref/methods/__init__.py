"""The methods of Tensor by topic: each is one line that calls an operation."""
