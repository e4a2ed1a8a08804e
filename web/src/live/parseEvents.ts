// Server-sent events out of chunks of text, after the HTML standard (9.2.6), as far as our gateway speaks it.
// Pure: no I/O, no clock. Feed it text as it comes; it hands back whole events.

export interface ServerEvent {
  id: string | null
  type: string
  data: string
}

export class EventParser {
  private rest = ''
  private id: string | null = null
  private type = ''
  private data: string[] = []

  feed(chunk: string): ServerEvent[] {
    const found: ServerEvent[] = []
    const lines = (this.rest + chunk).split(/\r\n|\n|\r(?!$)/)
    this.rest = lines.pop() ?? ''
    for (const line of lines) {
      if (line === '') {
        if (this.data.length) found.push({ id: this.id, type: this.type || 'message', data: this.data.join('\n') })
        this.id = null
        this.type = ''
        this.data = []
      } else {
        this.field(line)
      }
    }
    return found
  }

  private field(line: string) {
    const colon = line.indexOf(':')
    if (colon === 0) return // a comment: the gateway's sign of life
    const name = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (name === 'data') this.data.push(value)
    else if (name === 'event') this.type = value
    else if (name === 'id' && !value.includes('\0')) this.id = value
  }
}
