"""What several test files share; ``tests/`` is on the path of imports (see conftest.py)."""
