"""The long text of each rule, one module a rule, imported when `numatune explain` asks for it."""
