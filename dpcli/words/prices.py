"""Words for what an answer costs, and how it is made noisy."""

from __future__ import annotations

from dpcli.reference import Page, Use

PAGES: tuple[Page, ...] = (
    Page(
        "epsilon",
        "key",
        "How much may be revealed: no output is more than e^epsilon times as likely with some "
        "person (or row) as without. Half the epsilon is twice the noise. 1 is a usual total, "
        "0.1 protects well, 10 protects hardly. `dpcli explain privacy --epsilon E` says what "
        "a number means for one person.",
        "a decimal above zero; up to 20 in a statistic, up to 1,000 in a budget",
        "epsilon: 0.5",
        "Another price must be there: `rho`, `error` or `share`.",
        ("privacy", "budget", "delta", "rho", "error", "share"),
        (
            Use(("budget",), "The total of all epsilons, above zero.", "epsilon: 2"),
            Use(("statistic",), "What this entry may reveal, above 0 and at most 20."),
            Use(("response",), "What a response may reveal."),
            Use(("quality",), "What the noisy counts of the check may reveal.", "epsilon: 0.02"),
        ),
    ),
    Page(
        "delta",
        "key",
        "The chance that the promise of epsilon fails. Keep it far below one divided by the "
        "number of people. Gaussian noise and private keys need one; Laplace noise needs none.",
        "a decimal above 0 and below 1, such as 1e-6; digits and an exponent are read exactly",
        "delta: 1e-6",
        "It is zero: mechanisms and compositions that need one are refused.",
        ("epsilon", "gaussian", "keys", "composition"),
        (
            Use(("budget",), "The total of all deltas; zero when absent."),
            Use(
                ("statistic",),
                "Only for mechanisms that need it, and for `keys: private`.",
                "delta: 1e-7",
            ),
            Use(("response",), "The delta of Gaussian noise.", "delta: 1e-9"),
            Use(("quality",), "Only for Gaussian noise.", "delta: 1e-9"),
        ),
    ),
    Page(
        "rho",
        "key",
        "What may be revealed, in zero-concentrated differential privacy: Gaussian noise costs "
        "rho = L2^2 / (2 sigma^2), and rhos add up. About epsilon squared over two, for small "
        "epsilons. Only with `composition: zcdp`.",
        "a decimal above zero, up to 20 in a statistic",
        "rho: 0.01",
        "Another price must be there: `epsilon`, `error` or `share`.",
        ("zcdp", "epsilon", "budget"),
        (
            Use(("budget",), "The total of all rhos, instead of `epsilon`.", "rho: 0.1"),
            Use(("statistic",), "The same in zero-concentrated privacy, instead of `epsilon`."),
            Use(("quality",), "The same in zero-concentrated privacy.", "rho: 0.0005"),
        ),
    ),
    Page(
        "error",
        "key",
        "How good an answer must be: the half-width of its interval. The plan finds the least "
        "epsilon that reaches it. For statistics that ask a single question.",
        "a number above zero, in the unit of the answer",
        "error: 25",
        "Another price must be there: `epsilon`, `rho` or `share`.",
        ("confidence", "auto", "epsilon", "share"),
        (
            Use(
                ("statistic",),
                "The half-width that is needed, instead of `epsilon`: the least that does.",
            ),
        ),
    ),
    Page(
        "share",
        "key",
        "An entry's part of what the others leave of the budget: an entry with share 2 gets "
        "twice as much as one with share 1. The plan shows what it comes to.",
        "a number above zero",
        "share: 2",
        "Another price must be there: `epsilon`, `rho` or `error`.",
        ("budget", "epsilon", "error"),
        (
            Use(
                ("statistic",),
                "Its part of what is left of the budget, instead of `epsilon`.",
            ),
        ),
    ),
    Page(
        "mechanism",
        "key",
        "How an answer is made noisy, or how a record responds. Numbers take laplace, geometric "
        "or gaussian noise; choices are made by permute_and_flip or exponential. `auto` leaves "
        "it to the plan.",
        "a mechanism that suits the statistic, or auto; in a response, one of the local model",
        "mechanism: gaussian",
        "laplace for numbers, permute_and_flip for choices. A response must name one.",
        ("laplace", "gaussian", "permute_and_flip", "auto", "calibration", "responses"),
        (
            Use(("statistic",), "How the answer is made noisy."),
            Use(
                ("quality",),
                "How counts are made noisy; Gaussian noise suits many columns.",
                "mechanism: gaussian",
            ),
            Use(("response",), "How a record responds.", "mechanism: randomized_response"),
        ),
    ),
    Page(
        "auto",
        "idea",
        "As a mechanism: the plan takes the one that is most accurate for the price, or, with "
        "`error`, the one that reaches it at the least cost. The plan, the report and the "
        "ledger say which it took. The choice looks at the spec alone.",
        "only as `mechanism: auto`",
        "mechanism: auto",
        "Without `mechanism` the first that suits is taken, not the best.",
        ("mechanism", "error", "share"),
    ),
    Page(
        "calibration",
        "key",
        "How Gaussian noise is chosen: `exact` is the least noise whose delta is proven, for any "
        "epsilon; `classic` is the textbook formula, for epsilon up to 1, with more noise.",
        "exact, classic",
        "calibration: exact",
        "It is exact.",
        ("gaussian", "delta"),
        (Use(("statistic",), "How Gaussian noise is chosen; `exact` when absent."),),
    ),
    Page(
        "post",
        "key",
        "What is done to noisy numbers before they are published, in this order. It costs "
        "nothing, and it can bias: counts without their negative part are too large on average.",
        "a list of nonnegative, integer, consistent, {clamp: [LOW, HIGH]} and "
        "{suppress_below: N}; in a response, simplex or clamp",
        "post: [nonnegative, integer]",
        "Nothing is done; only `marginals` are made consistent.",
        ("nonnegative", "integer", "clamp", "suppress_below", "consistent", "raw", "withhold"),
        (
            Use(("statistic",), "What is done to noisy numbers, in this order."),
            Use(
                ("response",),
                "`simplex` for frequencies, `clamp` for means: done to estimates.",
                "post: [simplex]",
            ),
        ),
    ),
    Page(
        "raw",
        "key",
        "Publishes the noisy numbers too, next to those that `post` made of them, as NAME.raw. "
        "Both are as private as the noisy ones alone.",
        "true, false; not with `withhold`",
        "raw: true",
        "It is false; but `marginals` that are made consistent show both.",
        ("post", "marginals", "withhold"),
        (Use(("statistic",), "`true`: publish the noisy numbers too, as NAME.raw."),),
    ),
    Page(
        "withhold",
        "key",
        "Leaves out numbers that are too uncertain, after all steps of `post`. It is decided by "
        "noisy numbers alone, for their quality: privacy does not need it, and the loss stays "
        "the same. What is left out is blank, with the flag `suppressed`.",
        "{wider_than: SHARE}; not with `raw: true`, nor for choices, which have no interval",
        "withhold: {wider_than: 0.5}",
        "All numbers are published; the uncertain ones have the flag `unreliable`.",
        ("wider_than", "flag", "post", "raw"),
        (Use(("statistic",), "Which numbers are too uncertain to be published."),),
    ),
    Page(
        "wider_than",
        "key",
        "A number is left out when half the width of its interval is more than this share of the "
        "number's size, both as they are printed. The flag `unreliable` uses the same measure, at "
        "0.5. Numbers near zero are always left out.",
        "a number above zero; 0.33 is a coefficient of variation of about 16.6%, 0.67 of 33.3%",
        "wider_than: 0.5",
        "`withhold` is refused.",
        ("withhold", "flag", "confidence"),
        (Use(("withhold",), "The largest half-width, as a share of the value."),),
    ),
)
"""From the price to the published number."""
