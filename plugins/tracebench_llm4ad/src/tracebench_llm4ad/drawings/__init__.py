"""Pictures of solutions: drawn as data where an instance is at hand, kept with the job, and made SVG when somebody looks."""
