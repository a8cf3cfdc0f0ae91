// This target defines its own pthread_create and sigaltstack. Once startHandler has called pm_set_thread_start, every
// thread that pthread_create creates first calls the given function, unless memory runs out. By default, the given
// function installs an alternate signal stack for the thread. The definition of sigaltstack records the alternate stack
// that a thread sets. The system's headers declare these functions, so nothing is declared here.
#ifndef CTHREADSTACKS_H
#define CTHREADSTACKS_H
#endif
