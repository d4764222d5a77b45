"""Stands for ipywidgets in a page without Jupyter: there is no connection to a front end."""

comm = None
