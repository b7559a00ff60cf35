"""Tasks whose program is a module of opto, so that proposers see its computation graph."""
