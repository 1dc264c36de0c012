"""The demo: the main job on a real tree, each step with the command to type (design: `./syncova demo`).

Owns the story and its proof. It drives the product from outside, by the same commands and API that a user has;
it must not reach into the database or the engine.
"""
