"""Commands that open repositories, on a machine that reaches them."""
