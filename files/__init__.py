"""What every part of the program does with files, whatever is in them.

A folder of its own because all others use it and it knows none of them: how a
file is written whole, what becomes of one that cannot be written now, what is
said of one that is damaged, and how its text reaches a terminal.
"""
