"""The processes of tasks on one machine, and the zygote that starts them."""
