// Defines pthread_create, which gives every thread an alternate signal stack once startHandler has asked for that. It keeps
// its name, so nothing is declared here.
#ifndef CTHREADSTACKS_H
#define CTHREADSTACKS_H
#endif
