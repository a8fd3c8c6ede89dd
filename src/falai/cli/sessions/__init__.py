"""`falai sessions`: what a store holds, looked at, taken out, put in and erased."""
