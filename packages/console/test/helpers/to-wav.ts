/** Joins samples with one channel as a WAV file. @param rate Hz */
export function toWav(sounds: readonly Int16Array[], rate: number): Buffer {
  const data = Buffer.concat(
    sounds.map(({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength))
  )
  const header = Buffer.alloc(44)
  header.write('RIFF', 0, 'latin1')
  header.writeUInt32LE(data.length + 36, 4)
  header.write('WAVEfmt ', 8, 'latin1')
  // PCM, one channel of 16 bits.
  for (const [at, value] of [16, 1 | (1 << 16), rate, rate * 2, 2 | (16 << 16)].entries())
    header.writeUInt32LE(value, 16 + 4 * at)
  header.write('data', 36, 'latin1')
  header.writeUInt32LE(data.length, 40)
  return Buffer.concat([header, data])
}
