import { describe, expect, it } from 'vitest'
import { packedIn } from './packed'

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const NOISE = btoa(String.fromCharCode(...Array.from({ length: 240 }, (_, n) => (n * 73 + 19) % 256)))

describe('base64 in a table', () => {
  it('is known by its beginning, also in a data URL', () => {
    expect(packedIn(PIXEL)).toMatchObject({ type: 'image/png', bytes: 70 })
    expect(packedIn(`data:image/png;base64,${PIXEL}`)).toMatchObject({ type: 'image/png', bytes: 70, base64: PIXEL })
  })
  it('is told from RIFF of either kind', () => {
    const riff = (kind: string) => btoa(`RIFF\0\0\0\0${kind}${'\0'.repeat(48)}`)
    expect(packedIn(riff('WAVE'))?.type).toBe('audio/wav')
    expect(packedIn(riff('WEBP'))?.type).toBe('image/webp')
  })
  it('is taken for bytes when it is long and looks like nothing else', () => {
    expect(packedIn(NOISE)).toMatchObject({ type: 'binary', bytes: 240 })
  })
  it('is not a digest, a word, a number or a short text', () => {
    expect(packedIn('9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'.repeat(4))).toBeNull()
    expect(packedIn('a'.repeat(400))).toBeNull()
    expect(packedIn('iVBORw0KGgo=')).toBeNull()
    expect(packedIn(12)).toBeNull()
    expect(packedIn('It has words, and blanks. '.repeat(20))).toBeNull()
  })
})
