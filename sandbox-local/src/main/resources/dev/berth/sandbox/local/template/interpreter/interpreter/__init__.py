"""The code interpreter: an HTTP server, the Jupyter kernels it drives, and what they show of charts and tables."""
