"""The checks of the conformance kit, each with its code; those of trainers, which plugins name, are beside this."""
