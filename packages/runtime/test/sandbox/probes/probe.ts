/** Programs by what they try; `FILE`, `PORT` and the host tools `echo` and `fail` are there for them. */
export type Probes = Record<string, string>
