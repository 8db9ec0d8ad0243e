"""The inspection UI: see why a reward is what it is, and teach the calibrator.

Pure functions make everything that is shown, as escaped HTML (``text.py``) or SVG; the files ``tab_*.py`` only wire
them to Gradio, which nothing outside this folder imports. Importing this package loads none of it.

    app.py      the page, and how it is mounted        gate.py     who may see it, and what it may load
    source.py   the store behind all tabs              bench.py    the scorers that can be asked now
    importing.py  a file of samples becomes a store    labels.py   what people said, and how far they agree
"""
