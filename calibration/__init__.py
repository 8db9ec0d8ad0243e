"""guerdon.calibration"""
