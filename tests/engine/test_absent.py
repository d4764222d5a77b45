"""Names that only PyTorch has: the error says so, and what to write instead."""

import importlib
import re

import pytest

import autolab
from autolab.engine import absent


def place(module):
    if module == "torch.Tensor":
        return autolab.ones(2)
    ours = module.replace("torchvision", "autolab.vision").replace("torch", "autolab", 1)
    return importlib.import_module(ours)


@pytest.mark.parametrize("module", absent.names())
def test_every_listed_name_is_absent_and_says_so(module):
    for name in absent.names()[module]:
        with pytest.raises(
            AttributeError, match="exists in PyTorch 2.13, but autolab keeps"
        ) as error:
            getattr(place(module), name)
        assert str(error.value).count(". ") == 1 and str(error.value).endswith(".")


@pytest.mark.parametrize(
    ("owner", "name", "words"),
    [
        (autolab.ones(2), "aminmax", "Write x.amin() and x.amax()."),
        (autolab, "compile", "Leave it out: autolab runs every operation as it comes."),
        (autolab.nn, "DataParallel", "Use the model itself"),
        (autolab, "tenser", "module 'torch' has no attribute 'tenser'"),
        (autolab.ones(2), "sume", "'Tensor' object has no attribute 'sume'"),
    ],
)
def test_what_to_write_instead(owner, name, words):
    with pytest.raises(AttributeError, match=re.escape(words)):
        getattr(owner, name)


def test_advice_is_given_for_absent_names_only():
    for full in absent.instead():
        module, _, name = full.rpartition(".")
        assert name in absent.names()[module], full


def test_tab_completion_does_not_offer_them():
    assert not absent.names()["torch.Tensor"] & set(dir(autolab.ones(2)))
    assert not hasattr(autolab.ones(2), "aminmax")
