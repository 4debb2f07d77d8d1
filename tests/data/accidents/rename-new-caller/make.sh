# make.sh DIR: a git repository in DIR with main and the branches of this accident.
set -eu
mkdir -p "$1"
cd "$1"
git init -q .
git symbolic-ref HEAD refs/heads/main
git config user.name dev
git config user.email dev@example.invalid
git config commit.gpgsign false
commit() { git add -A && git commit -q -m "$1"; }
branch() { git checkout -q -b "$1" main; }

mkdir shop
: >shop/__init__.py
cat >shop/pricing.py <<'END'
RATE = 19


def price(net):
    """What a customer pays for a net amount in cents."""
    return net + net * RATE // 100
END
cat >shop/cart.py <<'END'
from shop import pricing


def total(amounts):
    return sum(pricing.price(amount) for amount in amounts)
END
cat >test_cart.py <<'END'
import unittest
from shop import cart


class Cart(unittest.TestCase):
    def test_total(self):
        self.assertEqual(cart.total([100, 200]), 357)
END
echo 'Amounts are in cents.' >GUIDE
commit 'A cart with prices'

branch a
sed -i 's/def price(/def gross(/' shop/pricing.py
commit 'pricing: price is called gross'
sed -i 's/pricing.price(/pricing.gross(/' shop/cart.py
commit 'cart: use the new name'

branch b
cat >shop/receipt.py <<'END'
from shop import pricing


def line(name, net):
    return f"{name:<10}{pricing.price(net):>8}"
END
cat >test_receipt.py <<'END'
import unittest
from shop import receipt


class Receipt(unittest.TestCase):
    def test_line(self):
        self.assertEqual(receipt.line("tea", 100), "tea            119")
END
commit 'Receipts'

branch c
echo 'A receipt is not an invoice.' >>GUIDE
commit 'Guide: receipts'

branch d
cat >shop/stock.py <<'END'
def left(have, sold):
    return max(0, have - sold)
END
cat >test_stock.py <<'END'
import unittest
from shop import stock


class Stock(unittest.TestCase):
    def test_left(self):
        self.assertEqual(stock.left(3, 5), 0)
END
commit 'Stock'

git checkout -q main
