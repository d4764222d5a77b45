"""Layers of convolution, pooling, normalisation, padding and resizing against PyTorch: how they print, start, run and
are saved."""

import pytest
from goldens.oracle import check, error_of, same_as_torch

LAYERS = [
    "Conv1d(4, 6, 3)",
    "Conv1d(4, 6, 3, stride=2, padding='valid', dilation=2, groups=2, bias=False)",
    "Conv2d(4, 6, 3)",
    "Conv2d(4, 6, (3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=2, bias=False)",
    "Conv2d(4, 8, 3, padding='same', groups=4)",
    *[
        f"Conv2d(4, 6, 3, padding=(1, 2), padding_mode='{mode}')"
        for mode in ("reflect", "replicate")
    ],
    "Conv2d(4, 6, (2, 3), padding='same', padding_mode='reflect', dilation=(2, 1))",
    "Conv3d(4, 6, 3)",
    "Conv3d(4, 6, (1, 2, 3), stride=(1, 2, 1), padding=(0, 1, 2), dilation=(2, 1, 1), groups=2, bias=False)",
    "Conv3d(4, 8, 2, padding='same', groups=4)",
    "ConvTranspose1d(4, 6, 3, stride=2, padding=1, output_padding=1)",
    "ConvTranspose2d(4, 6, 3)",
    "ConvTranspose2d(4, 6, (2, 3), stride=2, padding=1, output_padding=(1, 0), groups=2, bias=False, dilation=(1, 2))",
    "MaxPool1d(2)",
    "MaxPool1d(3, 1, 1, 1, ceil_mode=True)",
    "MaxPool2d(2)",
    "MaxPool2d((3, 2), stride=(2, 1), padding=1, dilation=(1, 1), ceil_mode=True)",
    "AvgPool1d(2)",
    "AvgPool1d(3, 1, 1, ceil_mode=True, count_include_pad=False)",
    "AvgPool2d(2)",
    "AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False, divisor_override=5)",
    "AdaptiveAvgPool1d(3)",
    "AdaptiveAvgPool2d((1, None))",
    "BatchNorm1d(4)",
    "BatchNorm2d(4)",
    "BatchNorm2d(4, eps=0.1, momentum=None)",
    "BatchNorm2d(4, affine=False, track_running_stats=False)",
    "BatchNorm2d(4, momentum=0.5, bias=False)",
    "LayerNorm(5)",
    "LayerNorm((6, 5), eps=0.1, bias=False)",
    "LayerNorm([5], elementwise_affine=False)",
    "GroupNorm(2, 4)",
    "GroupNorm(4, 4, affine=False)",
    "InstanceNorm1d(4)",
    "InstanceNorm2d(4)",
    "RMSNorm(5)",
    "RMSNorm((6, 5), eps=0.1, elementwise_affine=False)",
    "ConstantPad1d((1, 2), 2.5)",
    "ConstantPad2d(1, -1)",
    "ConstantPad3d(1, 0.5)",
    "ZeroPad1d(1)",
    "ZeroPad2d((1, 2, 3, 4))",
    "ReflectionPad1d(2)",
    "ReflectionPad2d((1, 2, 0, 1))",
    "ReplicationPad1d((1, 2))",
    "ReplicationPad2d(2)",
    "Upsample(scale_factor=2)",
    "Upsample(scale_factor=(2, 1.5), mode='bilinear', align_corners=True)",
    "PixelShuffle(2)",
    "Unfold(2, dilation=2)",
    "Dropout2d(0.4)",
]


def shape_for(code):
    return (2, 4, 9) if "1d" in code else (2, 4, 5, 4, 6) if "Conv3d" in code else (2, 4, 6, 5)


@pytest.mark.parametrize("code", LAYERS)
def test_layer(code):
    """Text, state, initial draws, three steps of training, evaluation, and the generator's place afterwards."""

    def ask(torch):
        torch.manual_seed(3)
        layer = eval(f"torch.nn.{code}", {"torch": torch})
        text, start = repr(layer), {k: v.clone() for k, v in layer.state_dict().items()}
        x = torch.sin(torch.arange(float(torch.Size(shape_for(code)).numel()))).reshape(
            shape_for(code)
        )
        optimizer = (
            torch.optim.SGD(layer.parameters(), lr=0.1) if list(layer.parameters()) else None
        )
        outs = []
        for step in range(3):
            y = layer(x * (step + 1))
            y = y if isinstance(y, tuple) else (y,)
            outs = list(y)
            if optimizer:
                optimizer.zero_grad()
                weights = torch.cos(torch.arange(float(y[0].numel()))).reshape(y[0].shape)
                ((y[0] + 0.3) ** 2 * weights).mean().backward()
                optimizer.step()
        layer.eval()
        return [text, start, outs, dict(layer.state_dict()), layer(x), torch.rand(2)]

    check("test_conv_modules", code, ask, rtol=2e-5)


@same_as_torch
def test_statistics_of_batch_norm(torch):
    """Momentum None averages all batches; frozen or forgotten statistics; what in-place changes by hand do."""
    x = torch.arange(24.0).reshape(4, 3, 2) ** 1.5
    plain, averaged, fixed = (
        torch.nn.BatchNorm1d(3),
        torch.nn.BatchNorm1d(3, momentum=None),
        torch.nn.BatchNorm1d(3),
    )
    fixed.eval()
    for step in range(3):
        for layer in (plain, averaged, fixed):
            layer(x + step)
    fixed.running_mean.fill_(2.0)
    seen = [
        [m.running_mean.clone(), m.running_var.clone(), m.num_batches_tracked.clone()]
        for m in (plain, averaged, fixed)
    ]
    versions = plain.running_mean._version
    plain.reset_running_stats()
    return [seen, versions, plain.running_mean, plain.num_batches_tracked, fixed(x), averaged(x)]


@same_as_torch
def test_errors_of_volumes(torch):
    conv = torch.nn.Conv3d(2, 3, 2)
    shapes = (2, 2, 2), (1, 3, 4, 4, 4), (1, 2, 1, 4, 4)
    return [
        conv(torch.ones(2, 3, 3, 3)).shape,
        *[error_of(lambda: conv(torch.ones(s))) for s in shapes],
    ]
