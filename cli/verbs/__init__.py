"""What each verb of the command does, a module a verb."""
