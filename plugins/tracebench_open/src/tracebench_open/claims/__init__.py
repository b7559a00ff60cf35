"""Public claims about optimizers asked again from their authors' own files, by rules that stand beforehand."""
