// Defines pthread_create, which gives every thread an alternate signal stack once startHandler has asked for that,
// and sigaltstack, which notes what each thread has. They keep their names, so nothing is declared here.
#ifndef CTHREADSTACKS_H
#define CTHREADSTACKS_H
#endif
