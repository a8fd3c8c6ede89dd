"""`falai migrate`: rows of an old place into a new one, each once (08-migrate).

`rows` says what is read, `places` where from; one module reads each kind of place.
"""
