"""What the prose of lesson 1 says in numbers is what the engine computes."""

from pathlib import Path

import pytest

import autolab as torch
from autolab.lessons import hand

SOURCE = Path(__file__).parents[2] / "course" / "src"
FILES = [*sorted(SOURCE.glob("01_graphs/*.py")), *sorted(SOURCE.glob("more/01_*/*.py"))]
LINES = "\n".join(file.read_text(encoding="utf-8") for file in FILES).splitlines()
PROSE = " ".join(line.removeprefix("#").strip() for line in LINES)


def leaf(value):
    return torch.tensor(value, requires_grad=True)


def fork():
    x = leaf(2.0)
    a, b = 3 * x, x * x
    product = a * b
    for t in (a, b, product):
        t.retain_grad()
    (product + b).backward()
    return x, a, b


def three_weights():
    w1, w3 = leaf(2.0), leaf(3.0)
    (w3 * (5.0 * w1)).backward()
    return w1.grad


def weighted_rows():
    x = leaf([5.0, 7.0])
    y = torch.tensor([[1.0, 2.0], [0.0, -1.0], [3.0, 1.0]]) @ x
    y.backward(torch.tensor([1.0, 10.0, 100.0]))
    return x.grad


def broadcast():
    b, row = leaf(0.5), leaf([10.0, 20.0])
    (torch.ones(3, 2) + b + row).sum().backward()
    return b.grad, row.grad


def loop(x):
    y = x = leaf(x)
    while y < 10:
        y = y * 2
    y.backward()
    return x.grad


def detached():
    w = leaf(3.0)
    (w.detach() * w).backward()
    return w.grad


def twice():
    x = leaf(3.0)
    for _ in range(2):
        (x * x).backward()
    return x.grad


def ladder():
    x = y = leaf(1.0)
    for _ in range(20):
        y = y + y
    y.backward()
    return x.grad


def valley():
    w, b = leaf(4.0), leaf(1.0)
    ((w - 1) ** 2 + 8 * b**2).backward()
    return w.grad, b.grad


def probability_of_the_shipped_seven():
    image, label = hand.shipped_digit()
    with torch.no_grad():
        return hand.network()(image.unsqueeze(0)).softmax(1)[0, label]


@pytest.mark.parametrize(("words", "said", "computed"), [
    ("The gradient, here $(6, 16)$", [6, 16], valley),
    ("a probability of 0.0015, so its loss is 6.5", 0.0015, lambda: probability_of_the_shipped_seven().item().__round__(4)),
    ("so its loss is 6.5", 6.5, lambda: (-probability_of_the_shipped_seven().log()).item().__round__(1)),
    ("$\\bar b = 1 + 6 = 7$", 7, lambda: fork()[2].grad),
    ("$\\bar a = 4$", 4, lambda: fork()[1].grad),
    ("$\\bar x = 7 \\cdot 2 + 7 \\cdot 2 + 4 \\cdot 3 = 40$", 40, lambda: fork()[0].grad),
    ("Here $6 + 6 = 12$", 12, twice),
    ("$\\bar w = 3$ remains instead of $6$", 3, detached),
    ("$\\bar w_1 = w_3 \\cdot w_2 \\cdot x$, which was $3 \\cdot 5 \\cdot 1 = 15$", 15, three_weights),
    ("$1 \\cdot (1, 2) + 10 \\cdot (0, -1) + 100 \\cdot (3, 1) = (301, 92)$", [301, 92], weighted_rows),
    ("with the local derivative 1 each: $6$", 6, lambda: broadcast()[0]),
    ("through three rows: $3$", [3, 3], lambda: broadcast()[1]),
    ("$dy/dx = 2 \\cdot 2 = 4$", 4, lambda: loop(3.0)),
    ("it ran four times, so the derivative is $16$", 16, lambda: loop(1.0)),
    ("a million paths", 2**20, ladder),
])
def test_number_in_the_prose(words, said, computed):
    assert words in PROSE, "the sentence has changed: change this test with it"
    found = computed()
    values = [t.tolist() if hasattr(t, "tolist") else t for t in (found if isinstance(found, tuple) else (found,))]
    assert (values[0] if len(values) == 1 else values) == said


def test_quadratic_goes_where_the_prose_says():
    assert "which is zero at $x = -2/3$" in PROSE and "zero at $x = -1/3$" in PROSE
    assert "stopped at 0.5, although its lowest value is 0.3333" in PROSE
    height = lambda x: (3 * x**2 + 2 * x + 1) / 2
    assert (height(-2 / 3), round(height(-1 / 3), 4)) == (pytest.approx(0.5), 0.3333)


def test_teaching_costs_what_the_prose_says():
    assert "Before the training, the network read 177 of the 180 correctly" in PROSE
    assert "Now that it has learned the shipped 7, it reads only 149" in PROSE
    images, digits = hand.others()
    image, label = hand.shipped_digit()
    network, right = hand.network(), []
    for steps in (0, 40):
        hand.teach(network, image.unsqueeze(0), torch.tensor([label]), lr=0.001, steps=steps)
        with torch.no_grad():
            right.append((network(images).argmax(1) == digits).sum().item())
    assert right == [177, 149] and network(image.unsqueeze(0)).argmax().item() == label
