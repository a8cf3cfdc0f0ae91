// This target defines its own pthread_sigmask, sigprocmask and abort. Until startHandler has called pm_keep_open, they
// do what libc's functions do. The system's headers declare these functions, so nothing is declared here.
#ifndef CSIGNALMASKS_H
#define CSIGNALMASKS_H
#endif
