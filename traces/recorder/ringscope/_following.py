# SPDX-License-Identifier: Apache-2.0
"""The backward of attention that autograd runs with several operators. No line of the job marks its beginning and end,
but the gradients that arrive do."""


def follow(inputs, out, begins, ended):
    """Calls begins(dout) when the gradient of `out` arrives, and ended({"dq": …}) when the gradients of all inputs
    that require one have arrived. Does nothing if no gradient will arrive. Keeps none of these tensors alive."""
    names = [f"d{what}" for what, tensor in inputs.items() if tensor.requires_grad]
    if not names or not out.requires_grad:
        return
    came = {}

    def first(gradient):
        came.clear()
        begins(gradient)

    def hear(name):
        def heard(gradient):
            came[name] = gradient
            if len(came) == len(names):
                ended({name: came[name] for name in names})
                came.clear()

        return heard

    out.register_hook(first)
    for what, tensor in inputs.items():
        if f"d{what}" in names:
            tensor.register_hook(hear(f"d{what}"))
