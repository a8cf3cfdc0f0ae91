// This target defines pthread_create and sigaltstack. After startHandler has turned the feature on, pthread_create
// gives every new thread an alternate signal stack. sigaltstack records each thread's alternate stack. The system's
// headers declare these functions, so nothing is declared here.
#ifndef CTHREADSTACKS_H
#define CTHREADSTACKS_H
#endif
