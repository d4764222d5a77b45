"""inf and NaN reach what they reach in PyTorch, in results and gradients: of every operation, and where an answer has
to come at once."""

import math
import subprocess
import sys

import pytest
from engine_nonfinite import reached, signs
from engine_ops import call_engine, call_torch, cases
from engine_outcomes import outcome
from goldens.oracle import answer, check

import autolab

# Where PyTorch's answer is that of its linear algebra library, of a formula that rounds otherwise, or of one of two
# kernels: (what begins so is not compared, why).
OTHERWISE = {
    "linalg_pinv": ("", "of inf all is NaN here, in PyTorch what its own LAPACK makes of it"),
    "linalg_det": ("", "by an LU decomposition, whose pivots decide"),
    "linalg_slogdet": (
        "",
        "by an LU decomposition; and PyTorch's sign is part of the graph, with a gradient of 0",
    ),
    "linalg_solve": ("A", "by an LU decomposition, whose pivots decide"),
    "native_layer_norm": (
        ("weight", "gradient"),
        "PyTorch's gradient sums in another order, so inf - inf comes earlier",
    ),
    "native_group_norm": (
        ("weight", "gradient"),
        "PyTorch multiplies by weight / sigma first, so inf - inf comes earlier",
    ),
    "native_batch_norm": (
        "weight",
        "PyTorch multiplies by weight / sigma first, so inf - inf comes earlier",
    ),
    "binary_cross_entropy_backward": ("self", "no probability: binary_cross_entropy refuses it"),
    "convolution_grad_input": (
        "grad_output",
        "PyTorch's float32 kernel leaves out the border, the one for float64 multiplies it",
    ),
    "gelu": (
        "self",
        "PyTorch's float32 gelu of inf is NaN on some processors (oneDNN) and inf on others",
    ),
    "mode": ("", "it refuses nan"),
    "unique_dim": ("", "rows are sorted, which NaN have no place in"),
}


def compared(case, found):
    """What of the answers is compared."""
    start, _ = OTHERWISE.get(case.name, (None, ""))
    return found if start is None else {k: v for k, v in found.items() if not k.startswith(start)}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "case", [c for c in cases() if OTHERWISE.get(c.name, ("-",))[0]], ids=lambda case: case.key
)
def test_reaches_the_same(case, dtype):
    expected = answer(
        "test_nonfinite",
        f"{case.key} {dtype}",
        lambda torch: compared(case, reached(torch, call_torch, case, dtype)),
    )
    assert compared(case, reached(autolab, call_engine, case, dtype)) == expected


# -- images ------------------------------------------------------------------------------------------------------------
def turned(t, x):
    """Places a little turned and moved, some of them outside."""
    theta = t.tensor([[[0.9, 0.2, 0.1], [-0.2, 1.1, 0.3]]], dtype=x.dtype)
    return t.nn.functional.affine_grid(theta, x.shape, align_corners=False)


IMAGES = {
    **{
        f"{mode} {size} {corners}": lambda t, x, mode=mode, size=size, corners=corners: (
            t.nn.functional.interpolate(
                x, size=size, mode=mode, **({} if corners is None else {"align_corners": corners})
            )
        )
        for mode, choices in {
            "nearest": (None,),
            "area": (None,),
            "bilinear": (True, False),
            "bicubic": (True, False),
        }.items()
        for corners in choices
        for size in ((7, 9), (3, 2), (5, 5), (5, 8))
    },
    **{
        f"{mode} smooth {size}": lambda t, x, mode=mode, size=size: t.nn.functional.interpolate(
            x, size=size, mode=mode, antialias=True
        )
        for mode in ("bilinear", "bicubic")
        for size in ((2, 4), (4, 2), (8, 4))
    },
    "scale 2": lambda t, x: t.nn.Upsample(scale_factor=2, mode="bilinear")(x),
    "scale 1": lambda t, x: t.nn.functional.interpolate(x, scale_factor=1.0, mode="bilinear"),
    "scale 0.6": lambda t, x: t.nn.functional.interpolate(x, scale_factor=0.6, mode="bicubic"),
    "sequence": lambda t, x: t.nn.functional.interpolate(x[0], scale_factor=2, mode="linear"),
    "sequence nearest": lambda t, x: t.nn.functional.interpolate(x[0], size=3),
    "adaptive": lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, (2, 3)),
    "adaptive bigger": lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, (7, 5)),
    "adaptive 1-d": lambda t, x: t.nn.functional.adaptive_avg_pool1d(x[0], 3),
    "average": lambda t, x: t.nn.functional.avg_pool2d(x, 3, 2, 1),
    "max": lambda t, x: t.nn.functional.max_pool2d(x, 3, 2, 1),
    "windows": lambda t, x: t.nn.functional.unfold(x, 3, padding=1),
    "affine": lambda t, x: t.nn.functional.grid_sample(x, turned(t, x), align_corners=False),
    "blurred": lambda t, x: t.nn.functional.conv2d(
        x, t.ones(2, 1, 3, 3, dtype=x.dtype) / 9, padding=1, groups=2
    ),
}


@pytest.mark.parametrize("name", IMAGES)
def test_pixels_reach_what_is_read_from_them(name):
    def program(torch):
        found = []
        for dtype in (torch.float32, torch.float64):
            for at in ((0, 0), (2, 2), (4, 3)):
                for bad in (math.inf, math.nan):
                    x = torch.arange(50, dtype=dtype).reshape(1, 2, 5, 5).cos()
                    x[0, 0, at[0], at[1]] = bad
                    x.requires_grad_()
                    y = IMAGES[name](torch, x)
                    seed = torch.ones_like(y)
                    seed[(0,) * (y.ndim - 2) + (y.shape[-2] // 2, y.shape[-1] // 2)] = bad
                    plainly, badly = (
                        torch.autograd.grad(y, x, g, retain_graph=True)[0]
                        for g in (torch.ones_like(y), seed)
                    )
                    found.append(" ".join(signs(t.detach()) for t in (y, plainly, badly)))
        return found

    check("test_nonfinite", name, program)


# -- float64, where a product and a sum are rounded once ---------------------------------------------------------------
FUSED = [
    "torch.tensor([2., -inf], dtype=torch.float64).norm()",
    "torch.tensor([1., nan, inf], dtype=torch.float64).norm()",
    "torch.linalg.vector_norm(D, 2, 1)",
    "F.normalize(D)",
    "torch.addcmul(D, D, E, value=2)",
    "torch.addcmul(*[torch.tensor(a, dtype=torch.float64) for a in ([-1.7e308, 1e308, -1e308, 1e290], [1e200, 1e308, 1e308, 1e305], "
    "[1.8e108, 1., 2.5, 1.8e-15])])",
    "torch.lerp(D, E, 0.3)",
    "torch.lerp(D, E, E)",
    "torch.dist(D, E)",
    "F.cosine_similarity(D, E)",
    "torch.nn.utils.clip_grad_norm_([p], 1.), p.grad",
    "D.std(1), D.logsumexp(1), D.softmax(1), D.float().norm(dim=1)",
]


@pytest.mark.parametrize("source", FUSED)
def test_float64(source):
    start = (
        "D = torch.tensor([[2., -inf, 3, 4, 5], [1e300, 1, nan, 1, 1], [1e-300, 0, 0, 0, 1e-320]], dtype=torch.float64); "
        "E = torch.tensor([[inf, 1., 0.5, -inf, 1e300], [1e300, 1e200, 2, -1, 1], [0, 0.3, -1, 0, 1.]], dtype=torch.float64); "
        "p = torch.zeros(2, dtype=torch.float64, requires_grad=True); p.grad = torch.tensor([inf, 1.], dtype=torch.float64); "
    )
    check("test_nonfinite", source, lambda torch: outcome(torch, start + source))


# -- matrices ----------------------------------------------------------------------------------------------------------
MATRICES = [
    "L.svd(M(inf)).S",
    "L.svd(M(nan))",
    "torch.svd(M(nan))",
    "L.eigvalsh(S(nan)[:2, :2].T)",
    "L.eigh(S(nan))",
    "L.eigh(torch.tensor([[nan]]))",
    "L.eigh(torch.tensor([[inf]]))",
    "L.eigvalsh(torch.eye(3).masked_fill(torch.eye(3).roll(1, 1) * torch.eye(3).triu() > 0, nan))",
    "L.matrix_exp(S(inf))",
    "L.matrix_exp(torch.tensor([[inf]]))",
    "L.matrix_exp(torch.tensor([[-inf]]))",
    "L.matrix_exp(B(inf)[:, :, :2])",
    "L.slogdet(S(nan))",
    "L.inv(S(nan))",
    "L.inv(S(inf))",
    "L.solve(S(nan), M(1.)).contiguous()",
    "L.det(S(inf))",
    "L.cholesky(S(nan))",
    "L.eigh(torch.ones(3, 1))",
    "L.eigvalsh(torch.ones(2, 3))",
    "L.eigh(torch.ones(3))",
    "L.eigh(torch.ones(2, 2).int())",
    "L.eigh(torch.ones(2, 2).half())",
    "L.solve(torch.ones(2, 2).int(), torch.ones(2, 2).int())",
    "L.solve(torch.ones(2, 2).long(), torch.ones(2, 2))",
    "L.solve(torch.eye(2), torch.ones(2, 2).double())",
    "L.solve(torch.eye(2) > 0, torch.eye(2) > 0)",
    "L.solve(torch.eye(2).half(), torch.eye(2).half())",
    "L.cholesky(torch.ones(2, 2).int())",
    "L.cholesky(torch.ones(2, 2).half())",
]


@pytest.mark.parametrize("source", MATRICES)
def test_matrices(source):
    start = (
        "L = torch.linalg; M = lambda v: torch.tensor([[0.5, 0.7, 0.25, -2.5], [-2.5, 1., -1., 0.25], [v, 0.1, -0.5, 0.1]]); "
        "S = lambda v: M(v)[:, :3]; B = lambda v: torch.stack([M(1.)[:2], M(v)[1:]]); "
    )
    check("test_nonfinite", source, lambda torch: outcome(torch, start + source))


# -- losses and others -------------------------------------------------------------------------------------------------
OTHERS = [
    "F.binary_cross_entropy(torch.tensor([0.5, nan]), torch.tensor([1., 0.]))",
    "F.binary_cross_entropy(torch.tensor([0.5]), torch.tensor([nan]))",
]


@pytest.mark.parametrize("source", OTHERS)
def test_others(source):
    check("test_nonfinite", source, lambda torch: outcome(torch, source))


def test_answers_come_at_once():
    """In a process of their own, for what does not end cannot be interrupted."""
    script = (
        "import autolab as t\n"
        "inf = float('inf')\n"
        "m = t.tensor([[0.5, 0.7, 0.25, -2.5], [-2.5, 1., -1., 0.25], [-inf, 0.1, -0.5, 0.1]])\n"
        "try: t.linalg.svd(m)\n"
        "except RuntimeError: pass\n"
        "t.linalg.matrix_exp(m[:, :3])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
