"""Runs problems: plans their rows, starts and watches workers, shows progress, keeps results."""
