"""`torch.cuda`: with a simulated GPU, and without any."""

import re

import pytest
from conformance import seeds
from goldens import oracle

import autolab as torch


@pytest.fixture
def sim():
    with torch.cuda.simulate(devices=2, memory="64MiB", profile="T4") as simulation:
        yield simulation


NO_GPU = "Torch not compiled with CUDA enabled"


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_without_a_gpu_asking_is_safe_and_using_raises():
    assert (torch.cuda.is_available(), torch.cuda.device_count()) == (False, 0)
    assert (torch.cuda.memory_allocated(), torch.cuda.max_memory_reserved()) == (0, 0)
    torch.cuda.manual_seed(1)
    torch.cuda.empty_cache()
    for use in (
        torch.cuda.current_device, torch.cuda.synchronize, torch.cuda.get_device_name, torch.cuda.get_device_capability,
        torch.cuda.current_stream, lambda: torch.ones(2, device="cuda"), lambda: torch.ones(2).cuda(), lambda: torch.ones(2).to("cuda:0"),
        lambda: torch.nn.Linear(2, 2).cuda(), lambda: torch.set_default_device("cuda"),
    ):  # fmt: skip
        with pytest.raises(AssertionError) as caught:
            use()
        assert str(caught.value) == NO_GPU
    with pytest.raises(
        RuntimeError, match="Cannot access accelerator device when none is available."
    ):
        torch.ones(2).pin_memory()
    with pytest.raises(
        TypeError,
        match="type torch.cuda.FloatTensor not available. Torch not compiled with CUDA enabled.",
    ):
        torch.cuda.FloatTensor(2)


def test_simulate_begins_and_ends():
    before = torch.cuda.is_available()
    simulation = torch.cuda.simulate(devices=3)
    try:
        assert (
            torch.cuda.is_available(),
            torch.cuda.device_count(),
            torch.cuda.is_simulated(),
        ) == (True, 3, True)
        kept = torch.ones(2, device="cuda:2")
    finally:
        simulation.stop()
    assert torch.cuda.is_available() is before
    assert repr(kept + kept) == "tensor([2., 2.], device='cuda:2')"
    simulation.stop()


def test_simulations_nest():
    with torch.cuda.simulate() as outer:
        with torch.cuda.simulate(devices=2):
            assert torch.cuda.device_count() == 2
            with pytest.raises(RuntimeError, match="a later simulation is still running"):
                outer.stop()
        assert torch.cuda.device_count() == 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"profile": "P100"},
            "unknown profile 'P100', expected one of 'laptop', 'T4', 'A100', 'H200'",
        ),
        ({"devices": 0}, "devices must be a positive int, got 0"),
        (
            {"memory": "much"},
            "memory must be a size such as '1GiB' or a number of bytes, got 'much'",
        ),
        (
            {"memory": "1.2.3GB"},
            "memory must be a size such as '1GiB' or a number of bytes, got '1.2.3GB'",
        ),
        ({"memory": "."}, "memory must be a size such as '1GiB' or a number of bytes, got '.'"),
        (
            {"memory": "0 GB"},
            "memory must be a size such as '1GiB' or a number of bytes, got '0 GB'",
        ),
    ],
)
def test_simulate_refuses(wrong, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        torch.cuda.simulate(**wrong)


@pytest.mark.parametrize(
    ("text", "nbytes"), [("1GiB", 1 << 30), ("512 MB", 512 * 10**6), (4096, 4096), ("1.5KiB", 1536)]
)
def test_sizes(text, nbytes):
    with torch.cuda.simulate(memory=text):
        assert torch.cuda.mem_get_info() == (nbytes, nbytes)


def test_the_gpu_says_what_it_is(sim):
    assert torch.cuda.get_device_name(0) == "Simulated T4"
    assert torch.cuda.get_device_capability() == (7, 5)
    p = torch.cuda.get_device_properties("cuda:1")
    assert (p.name, p.total_memory, p.multi_processor_count, p.is_simulated) == (
        "Simulated T4",
        64 << 20,
        40,
        True,
    )
    assert "is_simulated=True" in repr(p)


def test_the_current_device(sim):
    assert torch.cuda.current_device() == 0
    assert str(torch.ones(1, device="cuda").device) == "cuda:0"
    with torch.cuda.device(1):
        assert str(torch.ones(1, device="cuda").device) == "cuda:1"
        assert torch.cuda.memory_allocated() == 0
    torch.cuda.set_device("cuda:1")
    assert str(torch.ones(1).cuda().device) == "cuda:1"
    assert torch.cuda.current_device() == 1


def test_a_device_that_is_not_there(sim):
    with pytest.raises(torch.AcceleratorError) as caught:
        torch.ones(1, device="cuda:2")
    assert str(caught.value).startswith("CUDA error: invalid device ordinal\n")


def test_modules_move_with_their_gradients_and_stay_leaves(sim):
    model = torch.nn.Linear(3, 2)
    weight = model.weight
    assert model.to("cuda") is model
    assert (model.weight is weight, weight.is_leaf, str(weight.device)) == (True, True, "cuda:0")
    model(torch.ones(1, 3, device="cuda")).sum().backward()
    assert repr(model.bias.grad) == "tensor([1., 1.], device='cuda:0')"
    model.cpu()
    assert repr(model.bias.grad) == "tensor([1., 1.])"
    model.cuda(1)
    assert str(model.bias.grad.device) == "cuda:1"
    with pytest.raises(RuntimeError) as caught:
        model(torch.ones(1, 3))
    assert str(caught.value) == (
        "Expected all tensors to be on the same device, but got mat1 is on cpu, different from other tensors on cuda:1 "
        "(when checking argument in method wrapper_CUDA_addmm)"
    )


def test_a_data_loader_pins_its_batches(sim):
    loader = torch.utils.data.DataLoader(
        [(torch.ones(2) * i, {"name": "a", "label": i}) for i in range(4)],
        batch_size=2,
        pin_memory=True,
    )
    for x, rest in loader:
        assert (x.is_pinned(), rest["label"].is_pinned(), rest["name"]) == (True, True, ["a", "a"])


def test_old_tensor_types(sim):
    x = torch.cuda.FloatTensor([1, 2])
    assert (repr(x), x.type()) == ("tensor([1., 2.], device='cuda:0')", "torch.cuda.FloatTensor")
    assert isinstance(x, torch.cuda.FloatTensor) and not isinstance(x, torch.FloatTensor)
    assert x.type(torch.DoubleTensor).type() == "torch.DoubleTensor"
    assert x.cpu().type("torch.cuda.IntTensor").type() == "torch.cuda.IntTensor"


def test_the_same_seed_gives_the_same_numbers(sim):
    torch.manual_seed(5)
    here = torch.randn(3)
    torch.cuda.manual_seed(5)
    assert torch.equal(torch.randn(3, device="cuda").cpu(), here)


def test_all_forms_of_to(sim):
    x = torch.ones(2, dtype=torch.float64)
    there = x.to("cuda:1")
    for moved in (
        x.to(1),
        x.to(torch.device("cuda", 1)),
        x.to(device="cuda:1"),
        x.to(there),
        x.cuda(1),
        x.to("cuda:1", torch.float64, True),
    ):
        assert (str(moved.device), moved.dtype) == ("cuda:1", torch.float64)
    assert there.to(torch.float32).type() == "torch.cuda.FloatTensor"
    assert (there.to("cuda:1") is there, there.to("cuda:1", copy=True) is there) == (True, False)
    assert x.to("cuda", torch.int64).type() == "torch.cuda.LongTensor"
    with pytest.raises(RuntimeError, match="Invalid device, must be cuda device"):
        x.cuda("cpu")


# -- the courses' cells, on a GPU --------------------------------------------------------------------------------------
SAID = {
    "Using device: cuda\n": "Using device: cpu\n",
    "torch.cuda.FloatTensor": "torch.FloatTensor",
}
"""What a cell prints on a GPU, and on the CPU."""


def on_the_cpu(text):
    for gpu, cpu in SAID.items():
        text = text.replace(gpu, cpu)
    return re.sub(r",\s*device='cuda:0'", "", text)


@pytest.fixture(scope="module")
def transcripts():
    found = {}
    for name in ("tensors_and_parameters", "graph_and_gpu", "graphs_explained"):
        with torch.cuda.simulate():
            found[name] = seeds.run(name, oracle.ENGINE)
    return found


DIFFERENT = {
    ("tensors_and_parameters", 2): "TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to "
                                   "host memory first.",
    ("tensors_and_parameters", 5): "tensor([0.2345], device='cuda:0', grad_fn=<ToCopyBackward0>)\n"
                                   "tensor([0.2303], device='cuda:0', grad_fn=<ToCopyBackward0>)",
    ("graph_and_gpu", 10): "True",
    ("graph_and_gpu", 11): "1",
}  # fmt: skip
"""Cells that print something else with a GPU: what the courses' own outputs show (with today's name of the node)."""


@pytest.mark.parametrize("name", ["tensors_and_parameters", "graph_and_gpu", "graphs_explained"])
def test_cells_print_on_a_simulated_gpu_what_they_print_on_the_cpu(transcripts, name):
    for number, (found, expected) in enumerate(
        zip(transcripts[name], seeds.expected(name), strict=True)
    ):
        if (name, number) in DIFFERENT:
            assert found["out"] == DIFFERENT[name, number]
        elif seeds.cells(name)[number].mark != "memory":
            assert on_the_cpu(found["out"]) == expected["out"], seeds.cells(name)[number].code


"""Cells with networks, and what is put into them to run on a GPU, where they do not choose one by themselves."""


def test_what_is_not_there_says_so():
    with pytest.raises(
        AttributeError,
        match="module 'torch.cuda' has no attribute 'nvtx': it exists in PyTorch 2.13",
    ):
        torch.cuda.nvtx  # noqa: B018
    assert not hasattr(torch.cuda, "no_such_thing")


def test_the_accelerator_is_the_gpu(sim):
    accelerator = torch.accelerator
    assert (
        accelerator.is_available(),
        accelerator.device_count(),
        str(accelerator.current_accelerator()),
    ) == (True, 2, "cuda")
    kept = torch.ones(128, device=accelerator.current_accelerator())
    assert (kept.get_device(), torch.ones(1).get_device()) == (0, -1)
    accelerator.synchronize()
    accelerator.set_device_index(1)
    assert (accelerator.current_device_index(), torch.cuda.current_device()) == (1, 1)
