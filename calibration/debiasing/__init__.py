"""What ``calibration/debias.py`` is made of: smoothers, the report before and after, its page."""
