// Bytes that travel as base64 in a text: what they are and how many, without showing them. Pure.

export interface Packed {
  type: string // of the content, as its first bytes say it
  bytes: number
  base64: string
}

const SHORTEST = 64 // characters; below that, the text itself is as short as what would stand in its place
const SURELY = 200 // a text without a known beginning must be this long, and look like nothing else
const SHAPE = /^[A-Za-z0-9+/]+={0,2}$/
const DATA_URL = /^data:([a-z]+\/[a-z0-9.+-]+);base64,/i
const HEX = /^[0-9a-f]+$/i

// The beginning of a file in base64, six bits a letter.
const BEGINNINGS: [string, string][] = [
  ['iVBORw0KGgo', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['JVBERi0', 'application/pdf'],
  ['UEsDB', 'application/zip'],
  ['H4sI', 'application/gzip'],
  ['SUQz', 'audio/mpeg'],
  ['T2dnU', 'audio/ogg'],
  ['Zkxh', 'audio/flac'],
]

export const bytesOf = (base64: string) => Math.floor((base64.replace(/[\s=]/g, '').length * 3) / 4)

function typeOf(base64: string): string | null {
  const known = BEGINNINGS.find(([beginning]) => base64.startsWith(beginning))
  if (known) return known[1]
  if (!base64.startsWith('UklGR')) return null // RIFF: bytes 8 to 11 say of what kind
  const kind = atob(base64.slice(0, 16)).slice(8, 12)
  return kind === 'WEBP' ? 'image/webp' : kind === 'WAVE' ? 'audio/wav' : null
}

/** null for whatever is better read as it is: words, numbers, digests, keys. */
export function packedIn(value: unknown): Packed | null {
  if (typeof value !== 'string' || value.length < SHORTEST) return null
  const named = DATA_URL.exec(value.slice(0, 100))
  const base64 = named ? value.slice(named[0].length) : value
  if (base64.length % 4 || !SHAPE.test(base64)) return null
  const type = named?.[1]?.toLowerCase() ?? typeOf(base64)
  if (!type && (base64.length < SURELY || HEX.test(base64) || !isMixed(base64))) return null
  return { type: type ?? 'binary', bytes: bytesOf(base64), base64 }
}

const isMixed = (text: string) => /[A-Z]/.test(text) && /[a-z]/.test(text) && /[0-9]/.test(text)

export function blobOf(base64: string, type = 'application/octet-stream'): Blob {
  return new Blob([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))], { type })
}

/** "logo.png" stays; a name without an ending gets one of its type. */
export function fileName(name: string, type: string): string {
  if (/\.[a-z0-9]{2,5}$/i.test(name)) return name
  const ending = /^[a-z]+\/([a-z0-9]{2,5})$/.exec(type)?.[1] ?? 'bin'
  return `${name}.${ending === 'mpeg' ? 'mp3' : ending}`
}

// What a browser may be given: pictures that hold no script, and sound.
const PICTURE = /^image\/(png|jpeg|gif|webp|avif)$/
const SOUND = /^audio\/(wav|x-wav|wave|mpeg|mp3|mp4|aac|ogg|opus|flac|webm)$/

export const isPicture = (type: string) => PICTURE.test(type)
export const isSound = (type: string) => SOUND.test(type)
