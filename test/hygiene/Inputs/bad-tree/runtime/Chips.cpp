const char *target = "sm_90a";
