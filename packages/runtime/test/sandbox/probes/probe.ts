/** Programs by what they attempt; they can use `FILE`, `PORT` and the host tools `echo` and `fail`. */
export type Probes = Record<string, string>
