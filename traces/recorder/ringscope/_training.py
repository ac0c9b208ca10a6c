# SPDX-License-Identifier: Apache-2.0
"""The loss of each rank, its gradients and their norm, and the optimizer's step."""

import functools
import math

import torch
from torch.optim import optimizer as optimizers

from . import _fingerprints
from ._divisors import DivisorObserver
from ._harmless import guarded
from ._hashing import gridsum64
from ._head import projection_of
from ._inductor import as_traced
from ._loss_gradient import LogitsGradient, LogitsPath, product_of
from ._parts import part_of, ranks_of_parts
from ._picked import PickedObserver
from ._pytorch import local_of
from ._reference import ReferenceGradient
from ._session import fingerprinter, observer
from ._tensors import TYPES, can_be_read

_AT_ONCE = 32
_FIRST_ELEMENTS = 4096  # of a weight, whose hash tells replicas from others
_MOST_KEPT = 128  # elements of a gradient whose values are kept
_REDUCTIONS = {0: "none", 1: "mean", 2: "sum"}


def _address(gradient):
    return None if gradient is None else local_of(gradient).data_ptr()


def is_counting(ids):
    """Reports whether most ids [..., S] are one more than the id before them."""
    return ids.dim() > 0 and ids.shape[-1] > 3 and bool((ids.diff() == 1).float().mean() > 0.5)


class LossObserver:
    """An observer of cross entropy, by the operator's inputs: log-probabilities and targets."""

    def __init__(self, session, buffers):
        self.session = session
        self.buffers = buffers
        self._logits = (None, None)
        self._smoothing = None
        self._has_gradient = False  # of a loss whose operators compiled code calls, where no tensor requires one
        self._number = 0
        self._picked = PickedObserver(session, self)
        self._embedding = set()
        self.divisors = DivisorObserver(session, self)
        self.saves_hooked = False  # hooks save what the backward of a loss needs, as a checkpoint's do
        self.parameter_name = lambda parameter: ""
        self.projections = set()  # names of the parameters that make logits

    def calls(self):
        """Returns the operators around which something is noted, with the function to call in their place."""
        return {torch.ops.aten.cross_entropy_loss.default: self.cross_entropy}

    def cross_entropy(self, args, kwargs, run):
        """Notes the label smoothing, because the operators inside are not given it."""
        before = self._smoothing
        self._smoothing = float(kwargs.get("label_smoothing", args[5] if len(args) > 5 else 0.0))
        try:
            return run()
        finally:
            self._smoothing = before

    def operators(self):
        aten = torch.ops.aten
        return {
            aten.nll_loss_forward.default: self.loss,
            aten.nll_loss2d_forward.default: self.loss,
            aten._log_softmax.default: self.log_softmax,
            aten.embedding.default: self.embedding,
            **self._picked.operators(),
        }

    def border(self):
        """Forgets logits of which no loss was made."""
        self._logits = (None, None)
        self._picked.restart()

    def next_number(self):
        self._number += 1
        return self._number

    @observer
    def log_softmax(self, args, kwargs, results):
        """Keeps the logits of the last log_softmax until a loss uses them."""
        self._logits = (results.data_ptr(), args[0])
        self.saves_hooked |= torch._C._autograd._top_saved_tensors_default_hooks(True) is not None
        self._picked.normalizes(results, args[0])

    @observer
    def loss(self, args, kwargs, results):
        self._write_loss(args, args[0].requires_grad or self._has_gradient)
        self._has_gradient = False

    @observer
    def compiled(self, tensors, facts):
        """Takes what compiled code shows of a cross entropy: its inputs. Without them, its operators run next."""
        if "tensors" not in facts:
            self._has_gradient = facts["grad"]
            return
        logits, target = as_traced(tensors, facts)
        log_probabilities = torch.log_softmax(logits, 1 if logits.dim() > 1 else 0)
        self._logits = log_probabilities.data_ptr(), logits
        self._smoothing = facts["smoothing"]
        args = log_probabilities, target, None, facts["reduction"], facts["ignore_index"]
        self._write_loss(args, facts["grad"], compiled=True)
        self._smoothing = None

    @staticmethod
    def traced(inductor, operator, args, kwargs):
        """Names a cross entropy that is traced for Inductor."""
        if operator.func is torch.ops.aten.cross_entropy_loss.default:
            given = operator.given(args, kwargs)
            target = given["target"]
            if given.get("weight") is None and not target.is_floating_point():
                inductor.name(
                    [given["self"], target],
                    reduction=int(given.get("reduction", 1)),
                    ignore_index=int(given.get("ignore_index", -100)),
                    smoothing=float(given.get("label_smoothing", 0.0)),
                    grad=given["self"].requires_grad,
                )

    def _write_loss(self, args, grad, **more):
        log_probabilities, target, weight, reduction, ignore_index = args[:5]
        session = self.session
        classes = 1 if log_probabilities.dim() > 1 else 0
        counted = target != ignore_index
        picked = log_probabilities.gather(
            classes, target.where(counted, torch.zeros_like(target)).unsqueeze(classes)
        ).squeeze(classes)
        smoothing = self._smoothing or 0.0
        own = picked.to(torch.float64)
        if smoothing > 0:
            own = (1 - smoothing) * own + smoothing * log_probabilities.mean(classes, dtype=torch.float64)
        own_sum = -(own * counted).sum().item()
        logits, made = None, {}
        number = self.next_number()
        self._picked.restart()
        if self._logits[0] == log_probabilities.data_ptr():
            given = self._logits[1]
            logits = session.tensor("logits", given.movedim(classes, -1), layer=None)
            rows = target if reduction == 0 else None  # the job decides what each counts, with a mask for instance
            made = self._follow(number, given, log_probabilities, target, counted, smoothing, rows)
            self._project(given.movedim(classes, -1), made.get("parameter"))
        self._logits = (None, None)
        storage = target.untyped_storage().data_ptr()
        session.line(
            "loss",
            **session.place(layer=None),
            operator="cross_entropy",
            number=number,
            smoothing=self._smoothing,
            grad=grad,
            made=made,
            **more,
            sum=own_sum if own_sum == own_sum and abs(own_sum) != float("inf") else None,
            targets=int(counted.sum().item()),
            weighted=weight is not None,
            reduction=_REDUCTIONS.get(reduction, "none"),
            ignore_index=ignore_index,
            shape=list(target.shape),
            tensors={"targets": session.tensor("targets", target, layer=None), "logits": logits},
            target_buffer=self.buffers.named.get(storage, ""),
        )

    def _follow(self, number, logits, log_probabilities, target, counted, smoothing, rows):
        """Returns how the logits were made, and follows their gradient; nothing if backward does not reach them. `rows`:
        targets of which only those count whose rows have a gradient; None if all count."""
        if logits.grad_fn is None:
            return {}
        try:
            path = LogitsPath(logits)
            if logits.dim() > 1:
                said = functools.partial(self.gradient, number)
                if rows is not None:
                    said = functools.partial(self._picked.gradient, number, rows.detach())
                counts_rows = rows is not None
                LogitsGradient(logits, log_probabilities, target, counted, smoothing, path, said, counts_rows, 1)
        except Exception as error:  # noqa: BLE001: the loss itself is known
            self.session.trouble("the gradient of a loss", error)
            return {}
        return self.made_by(path)

    def made_by(self, path):
        """Returns what a line says about how the logits were made."""
        made = {"between": path.between, "dtype": path.dtype, "parameter": "", "tied": False}
        if path.parameter is not None:
            made["parameter"] = self.parameter_name(path.parameter)
            made["tied"] = path.parameter.data_ptr() in self._embedding
        return made

    @observer
    def gradient(self, number, compared):
        self.session.line("loss_gradient", **self.session.place(layer=None), number=number, **compared())

    def _project(self, logits, name):
        """Records which parameter makes the logits, once for each. The model is searched if `name` is not known."""
        name = name or projection_of(logits, self.parameters())
        if name is not None and name not in self.projections:
            self.projections.add(name)
            self.session.line("head", parameter=name, rows=logits.shape[-1])

    @observer
    def embedding(self, args, kwargs, results):
        """Records an embedding outside the layers. The first one embeds tokens, by its place in the model. Another one
        that counts the tokens embeds positions."""
        if self.session.layer is not None or args[1].dtype not in (torch.int32, torch.int64):
            return
        ids = args[1]
        if self._embedding and args[0].data_ptr() not in self._embedding and is_counting(ids):
            self.session.tensor("position_ids", ids, name="embedding", layer=None)
            return
        self._embedding.add(args[0].data_ptr())
        self.session.token_shape = tuple(ids.shape)
        storage = ids.untyped_storage().data_ptr()
        name = self.embedding_names().get(args[0].data_ptr(), "")
        self.session.line(
            "embedding",
            **self.session.place(layer=None),
            parameter=name,
            rows=args[0].shape[0],
            buffer=self.buffers.named.get(storage, ""),
            ids=self.session.tensor("embedding_input", ids, name=name, layer=None),
        )

    embedding_names = staticmethod(lambda: {})
    parameters = staticmethod(lambda: ())  # (name, parameter) of the model


def _is_short(value):
    """Reports whether the values of a gradient or weight are kept. Vectors with an element per head, such as sinks, are
    short."""
    return value.dim() == 1 and value.numel() <= _MOST_KEPT


class OptimizerObserver:
    """An observer of the gradients that the optimizer uses and of the weights after its step. The optimizer's step ends
    a training step."""

    def __init__(self, session, patches):
        self.session = session
        self.names = {}
        self.reference = ReferenceGradient(session)
        self.clipped_names = set()
        self._handles = [
            optimizers.register_optimizer_step_pre_hook(self._before),
            optimizers.register_optimizer_step_post_hook(self._after),
        ]
        import torch.nn.utils as utils

        for owner in (utils, utils.clip_grad):
            patches.wrap(owner, "clip_grad_norm_", self._clip)

    def remove(self):
        for handle in self._handles:
            handle.remove()

    def know(self, model):
        for name, parameter in model.named_parameters():
            self.names[id(parameter)] = name.removeprefix("module.").replace("_orig_mod.", "")

    def gradient_name(self, tensor):
        """Returns the name of the parameter whose gradient this is, or None."""
        address = tensor.data_ptr()
        for again in (False, True):
            if again:
                self._by_address = {_address(p.grad): (name, p) for p, name in self._known}
            name, parameter = self._by_address.get(address, (None, None))
            if parameter is not None and _address(parameter.grad) == address:
                return name
        return None

    _outer = None, 0  # the optimizer that is stepping, and the microbatches before
    _is_described = False
    projections = ()
    _has_beginnings = False
    _projected = False  # the gradients of the projections were seen in this step, before their clipping
    _known = ()
    _by_address = {}

    def set_parameters(self, model):
        self.know(model)
        self._known = [(p, self.names[id(p)]) for p in model.parameters()]
        self.reference.know([(name, p) for p, name in self._known])
        self.session.memory.known = [p for p, _ in self._known]
        self.session.memory.parameters = model.parameters

    def _parameters(self, optimizer):
        for index, group in enumerate(optimizer.param_groups):
            for at, parameter in enumerate(group["params"]):
                yield self.names.get(id(parameter), f"group{index}.{at}"), parameter

    def _record(self, what, optimizer, of):
        self._write(what, [(name, of(p)) for name, p in self._parameters(optimizer)])

    def _write(self, what, named):
        """Records a few tensors at a time, because tensors that are not contiguous are copied."""
        named = [(name, value) for name, value in named if value is not None]
        for first in range(0, len(named), _AT_ONCE):
            some = named[first : first + _AT_ONCE]
            self.session.record(
                [(what, v, {"name": name, "part": part_of(v), "layer": None, "keep": _is_short(v)}) for name, v in some]
            )
            for name, value in some:
                if value is not local_of(value):
                    placed = [str(placement) for placement in value.placements]
                    self.session.line("placed", what=what, name=name, placements=placed)

    @guarded
    def _before(self, optimizer, args, kwargs):
        """An optimizer may step others that it contains. The outermost one ends the training step."""
        outer, microbatch = self._outer
        if outer is not None and outer is not optimizer and microbatch == self.session.microbatch:
            self.describe(optimizer)
            return
        self._outer, self._is_described = (optimizer, self.session.microbatch), False
        self.take_gradients(optimizer)
        self.fingerprint("grad", optimizer, lambda parameter: parameter.grad)

    @fingerprinter
    def fingerprint(self, what, optimizer, of):
        numbers = _fingerprints.fingerprint(of(p) for _, p in self._parameters(optimizer))
        if numbers is not None:
            self.session.tensor(what, numbers, name=_fingerprints.NAME, keep=False, layer=None)

    @observer
    def take_gradients(self, optimizer):
        self.session.memory.optimizer(optimizer)
        self.clipped_names.clear()
        self._record("grad", optimizer, lambda parameter: parameter.grad)
        self._write_beginnings(optimizer)
        self._write_norm_of_parts(optimizer)
        if not self._projected:
            self._project(self._parameters(optimizer))
        self._projected = False
        self._describe(optimizer)

    def _write_beginnings(self, optimizer):
        """Writes hashes of the first elements of all weights, once before a step changes them. Ranks that are no
        replicas of each other, such as stages of a pipeline, have others."""
        if self._has_beginnings:
            return
        hashes = {}
        for name, parameter in self._parameters(optimizer):
            weight = local_of(parameter).detach()
            if parameter.grad is None or ranks_of_parts(parameter) > 1 or not can_be_read(weight):
                continue
            if weight.dtype in TYPES:
                hashes[name] = f"{gridsum64(weight.reshape(-1)[:_FIRST_ELEMENTS]):016x}"
        if hashes:
            self._has_beginnings = True
            self.session.line("beginnings", step=self.session.step, hashes=hashes)

    def _write_norm_of_parts(self, optimizer):
        """Writes the norm of all of a rank's gradients if the rank holds only parts of them."""
        gradients = [p.grad for _, p in self._parameters(optimizer) if p.grad is not None]
        if not gradients or any(ranks_of_parts(gradient) < 2 for gradient in gradients):
            return
        norms = torch._foreach_norm([local_of(gradient).detach() for gradient in gradients])
        norm = torch.stack([norm.double() for norm in norms]).norm().item()
        if math.isfinite(norm):
            self.session.line("norm_of_parts", step=self.session.step, norm=norm)

    @observer
    def describe(self, optimizer):
        self._describe(optimizer)

    def _describe(self, optimizer):
        """Writes the first optimizer of a step that has a learning rate."""
        group = next(iter(optimizer.param_groups), {})
        if "lr" in group and not self._is_described:
            self._is_described = True
            self.session.line(
                "optimizer",
                step=self.session.step,
                of=type(optimizer).__name__,
                lr=float(group["lr"]),
                weight_decay=float(group.get("weight_decay", 0.0)),
            )

    def _project(self, named):
        """Records the product of an output projection's gradient with its weight: what all its logits' gradients with
        these logits give together."""
        self.reference.given()
        for name, parameter in named:
            if name in self.projections and parameter.grad is not None:
                self.session.line(
                    "head_gradient",
                    step=self.session.step,
                    parameter=name,
                    product=product_of(local_of(parameter.grad), local_of(parameter)),
                    parts=ranks_of_parts(parameter.grad),
                )

    @guarded
    def _after(self, optimizer, args, kwargs):
        if optimizer is not self._outer[0]:
            return
        self._outer = None, 0
        self.take_weights(optimizer)
        self.fingerprint("weight", optimizer, lambda parameter: parameter.data)
        self.session.end_step()

    @observer
    def take_weights(self, optimizer):
        self._record("weight", optimizer, lambda parameter: parameter.data)

    def _clip(self, original):
        def clip_grad_norm_(parameters, max_norm, *args, **kwargs):
            if isinstance(parameters, torch.Tensor):
                parameters = [parameters]
            parameters = list(parameters)
            begin_ns = self.session.now()
            self.take_unclipped(parameters)
            norm = original(parameters, max_norm, *args, **kwargs)
            self.clipped(norm, max_norm, args, kwargs, begin_ns)
            return norm

        return clip_grad_norm_

    @observer
    def take_unclipped(self, parameters):
        named = [(self.names.get(id(parameter), ""), parameter.grad) for parameter in parameters]
        self._write("grad_unclipped", named)
        self._project((self.names.get(id(parameter), ""), parameter) for parameter in parameters)
        self._projected = True
        self.clipped_names.update(name for name, gradient in named if gradient is not None)

    @observer
    def clipped(self, norm, max_norm, args, kwargs, begin_ns):
        norm = norm.full_tensor() if hasattr(norm, "full_tensor") else norm
        self.session.line(
            "clip",
            step=self.session.step,
            norm=float(norm),
            max_norm=float(max_norm),
            norm_type=float(args[0] if args else kwargs.get("norm_type", 2.0)),
            begin_ns=begin_ns,
            end_ns=self.session.now(),
        )
