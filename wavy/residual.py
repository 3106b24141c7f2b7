"""The residual connection as one module: the only place where a model meets a residual kind."""

from __future__ import annotations

from numbers import Real

import torch
from torch import Tensor, nn

from wavy.checks import check_choice, check_whole
from wavy.dynamics import KINDS, MIXED_KINDS, diffusion_step, wave_step

#: ``euler`` is equation (D) as printed; ``stock`` is (D) / (1 - tau), the host model's own residual at tau = 1/2.
FORMS = ("euler", "stock")


class Residual(nn.Module):
    """Join a state X with the output A X of attention, for any residual kind.

    ``forward(x, ax, memory) -> (x, memory)`` maps the pair (state, memory) of one layer to that of the next. The memory
    is the one tensor beside the state that a kind needs: nothing (``diffusion``), the velocity Y (``full``,
    ``mix_full``), or the previous state (``light``, ``mix_light``). ``None`` starts it: Y = 0, or X_prev = X.

    With X'_diffusion = tau A X + (1 - tau) X (form ``euler``, :eq:`eq-diffusion`) or X + tau/(1 - tau) A X (form
    ``stock``, :eq:`eq-stock`) and lambda = sigmoid(theta), one trained value a channel:

    - ``diffusion``: X' = X'_diffusion
    - ``full``: Y' = Y + tau (A X - X), X' = X + tau Y'                                :eq:`eq-wave`
    - ``light``: X' = X'_diffusion + lambda (X - X_prev)                               :eq:`eq-light`
    - ``mix_full``: X' = lambda (X + tau Y') + (1 - lambda) X'_diffusion, Y' as full   :eq:`eq-mix`
    - ``mix_light``: the same mix with the wave written as momentum,
      X + tau^2 (A X - X) + (X - X_prev)                                               :eq:`eq-wave-momentum`

    ``light`` is the reading that the paper prints; ``mix_light`` is the other reading of its words. X_prev is the
    previous state of this scheme, not of a wave: ``mix_light`` and ``mix_full`` differ from the second layer on.

    A may be causal or masked. Where it is (N, M) and reads other tokens Z, as cross attention does, A Z stands for A X:
    the force draws each token to its own average of Z. (The hosts leave cross attention its own residual.)

    A host with LayerScale gives its factors gamma as ``scale``. They make the attention a lazy one, :eq:`eq-lazy`,
    A_gamma = I + gamma (A - I), which stands for A wherever X is subtracted: I - A_gamma = gamma (I - A). At gamma = 0
    every kind starts as the identity, as LayerScale means it (beyond the paper). The form ``stock`` subtracts no X in
    its diffusion and keeps the host's own X + gamma A X.

    Args:
        dim: channels d of the state.
        kind: one of :data:`wavy.dynamics.KINDS`.
        tau: step size, 0 < tau <= 1 (0 < tau < 1 for form ``stock``).
        theta_init: start value of theta, for the kinds that have a lambda; very negative starts at plain diffusion.
        form: one of :data:`FORMS`.
        lam: a lambda in [0, 1] that stays as it is, in place of a trained one; ``None`` trains theta.

    Shapes:
        - **x, ax, memory:** (..., N, d).
        - **scale:** broadcasts to them, (d,) as a rule.

    Raises:
        ValueError: an argument out of its range, or shapes that do not match.

    Source: Wavy Transformer; the form ``stock`` and the choice of names are ours.
    """

    def __init__(
        self,
        dim: int,
        kind: str,
        tau: float = 0.5,
        theta_init: float = 0.0,
        form: str = "euler",
        lam: float | None = None,
    ) -> None:
        super().__init__()
        check_residual(dim, kind, tau, theta_init, form)
        check_lam(kind, lam)
        self.dim, self.kind, self.tau, self.form, self.theta_init = dim, kind, float(tau), form, float(theta_init)
        self.lam = lam
        self.theta = nn.Parameter(torch.empty(dim)) if kind in MIXED_KINDS and lam is None else None
        self.reset_parameters()

    @property
    def carries_velocity(self) -> bool:
        """Whether the memory is a velocity, which LayerNorm and mlp must carry along."""
        return self.kind in ("full", "mix_full")

    def reset_parameters(self) -> None:
        """Set theta to its start value."""
        if self.theta is not None:
            nn.init.constant_(self.theta, self.theta_init)

    def forward(
        self, x: Tensor, ax: Tensor, memory: Tensor | None = None, scale: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """The next state and the next memory, each (..., N, d); ``None`` stays ``None`` for diffusion."""
        _check_shapes(self.dim, x, ax, memory, scale)
        if self.kind == "diffusion":
            return self._diffusion(x, ax, scale), None
        if self.carries_velocity:
            start = torch.zeros_like(x) if memory is None else memory
            x_wave, velocity = wave_step(x, start, _lazy(x, ax, scale), self.tau)
            return (x_wave if self.kind == "full" else self._mix(x_wave, x, ax, scale)), velocity
        previous = x if memory is None else memory.to(x.dtype)
        if self.kind == "light":
            return self._light(x, previous, ax, scale), x
        x_wave = x + self.tau**2 * (_lazy(x, ax, scale) - x) + (x - previous)
        return self._mix(x_wave, x, ax, scale), x

    def _light(self, x: Tensor, previous: Tensor, ax: Tensor, scale: Tensor | None) -> Tensor:
        lam = self._lam(x)
        if self.form == "euler" or x.dtype in (torch.float16, torch.bfloat16):
            # Beside 1 a small lambda is lost in half precision.
            return self._diffusion(x, ax, scale) + lam * (x - previous)
        # lerp is X + lam (X - X_prev) in one pass, and autograd keeps nothing for it that is not alive anyway.
        return self._diffusion(torch.lerp(previous, x, 1 + lam), ax, scale)

    def _mix(self, x_wave: Tensor, x: Tensor, ax: Tensor, scale: Tensor | None) -> Tensor:
        x_diffusion = self._diffusion(x, ax, scale)
        # wavy.dynamics.mix in one pass
        return torch.lerp(x_diffusion, x_wave.to(x_diffusion.dtype), self._lam(x_diffusion))

    def _lam(self, x: Tensor) -> Tensor:
        # In the state's precision, so that under autocast a half-precision state stays one.
        return x.new_full((), self.lam) if self.theta is None else torch.sigmoid(self.theta).to(x.dtype)

    def _diffusion(self, x: Tensor, ax: Tensor, scale: Tensor | None) -> Tensor:
        if self.form == "euler":
            return diffusion_step(x, _lazy(x, ax, scale), self.tau)
        ratio = self.tau / (1 - self.tau)
        ax = ax if scale is None else ax * scale
        # At tau = 1/2 nothing is multiplied: the host's own x + ax comes out bit for bit.
        return x + ax if ratio == 1.0 else x + ratio * ax

    def extra_repr(self) -> str:
        lam = "" if self.lam is None else f", lam={self.lam:g}"
        return f"{self.dim}, kind={self.kind!r}, tau={self.tau:g}, form={self.form!r}{lam}"


def check_residual(dim: int, kind: str, tau: float, theta_init: float, form: str) -> None:
    """Check that the arguments describe a residual (see :class:`Residual`).

    Raises:
        ValueError: one line that names the first argument out of its range.
    """
    check_choice("kind", kind, KINDS)
    check_choice("form", form, FORMS)
    check_whole("dim", dim)
    check_step(tau, form)
    if not _is_number(theta_init) or not abs(theta_init) < float("inf"):
        raise ValueError(f"theta_init: found {theta_init!r}, allowed a finite number")


def check_step(tau: float, form: str) -> None:
    """Check a step size.

    Raises:
        ValueError: one outside (0, 1], or, in form "stock", outside (0, 1).
    """
    if not _is_number(tau) or not (0 < tau < 1 or (tau == 1 and form == "euler")):
        upper = "0 < tau <= 1" if form == "euler" else "0 < tau < 1 (form 'stock' divides by 1 - tau)"
        raise ValueError(f"tau: found {tau!r}, allowed {upper}")


def check_lam(kind: str, lam: float | None) -> None:
    """Check a lambda that is not trained.

    Raises:
        ValueError: one for a kind without lambda, or a number outside [0, 1].
    """
    if lam is not None and kind not in MIXED_KINDS:
        raise ValueError(f"lam: found {lam!r}, but kind {kind!r} has no lambda; allowed None")
    if lam is not None and not (_is_number(lam) and 0 <= lam <= 1):
        raise ValueError(f"lam: found {lam!r}, allowed None or 0 <= lam <= 1")


def _lazy(x: Tensor, ax: Tensor, scale: Tensor | None) -> Tensor:
    """A_gamma X."""
    return ax if scale is None else x + scale * (ax - x)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _check_shapes(dim: int, x: Tensor, ax: Tensor, memory: Tensor | None, scale: Tensor | None) -> None:
    # Shapes are static under compile and export, so this check costs nothing there; values are never looked at.
    if x.shape[-1] != dim:
        raise ValueError(f"x: found {x.shape[-1]} channels in shape {tuple(x.shape)}, allowed (..., N, {dim})")
    if ax.shape != x.shape:
        raise ValueError(f"ax: found shape {tuple(ax.shape)}, allowed that of x, {tuple(x.shape)}")
    if memory is not None and memory.shape != x.shape:
        raise ValueError(f"memory: found shape {tuple(memory.shape)}, allowed that of x, {tuple(x.shape)}")
    if scale is not None and not _broadcasts(scale.shape, x.shape):
        raise ValueError(f"scale: found shape {tuple(scale.shape)}, allowed one that broadcasts to {tuple(x.shape)}")


def _broadcasts(small: torch.Size, large: torch.Size) -> bool:
    ends = zip(reversed(small), reversed(large), strict=False)
    return len(small) <= len(large) and all(own in (1, other) for own, other in ends)
