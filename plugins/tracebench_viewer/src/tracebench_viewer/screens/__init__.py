"""The pages, one file each: Streamlit runs them as scripts. A folder called `pages` would be served without `main.py`."""
