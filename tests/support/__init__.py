"""What several kinds of test share; no test lives here."""
