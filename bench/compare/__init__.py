"""Everything that does walpost's job, side by side. Begin with __main__.py.

It stands on the harness of the end-to-end tests.
"""
