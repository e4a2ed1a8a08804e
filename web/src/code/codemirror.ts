// CodeMirror, put together once and loaded only when something is to be shown in it. The editor lives in a shadow
// root: there style-mod uses adopted style sheets, which our Content-Security-Policy allows; in the document it would
// insert <style> elements, which it forbids. Colours come in through inherited CSS variables.

import { autocompletion, closeBrackets, completionKeymap } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { json } from '@codemirror/lang-json'
import { MySQL, PostgreSQL, SQLite, sql, type SQLNamespace } from '@codemirror/lang-sql'
import { bracketMatching, foldGutter, foldKeymap, HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search'
import { Compartment, EditorState, type Extension } from '@codemirror/state'
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers, placeholder } from '@codemirror/view'
import { tags } from '@lezer/highlight'

export type Language = 'json' | 'sql' | 'text'

export interface EditorOptions {
  parent: HTMLElement
  text: string
  language: Language
  label: string
  isReadOnly: boolean
  isWrapped: boolean
  placeholder: string
  schema: SQLNamespace | undefined
  dialect: string | undefined
  changed: (text: string) => void
  submitted: () => void
}

const look = EditorView.theme({
  '&': { color: 'var(--color-base-content)', backgroundColor: 'transparent', fontSize: '12px', maxHeight: 'inherit' },
  '&.cm-focused': { outline: '2px solid var(--color-primary)', outlineOffset: '-2px' },
  '.cm-scroller': { fontFamily: "'Geist Mono', ui-monospace, monospace", lineHeight: '1.55', overflow: 'auto' },
  '.cm-content': { caretColor: 'var(--color-primary)', padding: '6px 0' },
  '.cm-cursor': { borderLeftColor: 'var(--color-primary)' },
  '.cm-gutters': { backgroundColor: 'transparent', color: 'var(--cg-dim)', border: 'none' },
  '.cm-activeLine': { backgroundColor: 'var(--cg-hover)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    background: 'color-mix(in oklab, var(--color-primary) 28%, transparent) !important',
  },
  '.cm-foldPlaceholder': { background: 'var(--color-base-200)', color: 'var(--cg-dim)', border: '1px solid var(--cg-line)' },
  '.cm-tooltip, .cm-panels': {
    background: 'var(--color-base-200)',
    color: 'var(--color-base-content)',
    border: '1px solid var(--cg-line)',
  },
  '.cm-tooltip-autocomplete ul li[aria-selected]': {
    background: 'var(--cg-active)',
    color: 'var(--color-base-content)',
  },
  '.cm-placeholder': { color: 'var(--cg-dim)' },
})

const inks = HighlightStyle.define([
  { tag: [tags.propertyName, tags.typeName], color: 'var(--cg-read-only)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--cg-answered)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--cg-tool-error)' },
  { tag: [tags.keyword, tags.operatorKeyword], color: 'var(--cg-open-world)', fontWeight: '600' },
  { tag: [tags.lineComment, tags.blockComment], color: 'var(--cg-dim)', fontStyle: 'italic' },
  { tag: [tags.invalid], color: 'var(--cg-failed)' },
])

// Typing over a selection, Chromium would insert a span with a style attribute, which our policy forbids.
const typedOver = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const isOver = event.inputType === 'insertText' && !view.composing && !view.state.selection.main.empty
    if (!isOver || event.data === null) return false
    event.preventDefault()
    view.dispatch(view.state.replaceSelection(event.data), { userEvent: 'input.type', scrollIntoView: true })
    return true
  },
})

// What is only read takes no key, also not for the moment that CodeMirror needs to undo it.
const takesNothing = EditorView.domEventHandlers({
  beforeinput(event) {
    event.preventDefault()
    return true
  },
})

function languageOf(options: EditorOptions): Extension {
  if (options.language === 'json') return json()
  if (options.language === 'text') return []
  const name = options.dialect?.toLowerCase() ?? ''
  const dialect = /mysql|mariadb/.test(name) ? MySQL : name.includes('sqlite') ? SQLite : PostgreSQL
  return sql({ dialect, schema: options.schema, upperCaseKeywords: true })
}

export class CodeEditor {
  private readonly view: EditorView
  private readonly language = new Compartment()

  constructor(private readonly options: EditorOptions) {
    const root = options.parent.shadowRoot ?? options.parent.attachShadow({ mode: 'open' })
    root.replaceChildren()
    const host = document.createElement('div')
    host.style.maxHeight = 'inherit'
    root.append(host)
    this.view = new EditorView({ root, parent: host, state: EditorState.create({ doc: options.text, extensions: this.extensions() }) })
  }

  private extensions(): Extension[] {
    const { options } = this
    const submit = { key: 'Mod-Enter', run: () => (options.submitted(), true) }
    const always = [
      look,
      syntaxHighlighting(inks),
      this.language.of(languageOf(options)),
      lineNumbers(),
      foldGutter(),
      bracketMatching(),
      highlightSelectionMatches(),
      EditorView.contentAttributes.of({ 'aria-label': options.label, tabindex: '0' }), // what scrolls can be reached by key
      options.isWrapped ? EditorView.lineWrapping : [],
    ]
    if (options.isReadOnly) {
      return [
        ...always,
        EditorState.readOnly.of(true),
        takesNothing,
        EditorView.contentAttributes.of({ 'aria-readonly': 'true' }),
        keymap.of([...searchKeymap, ...foldKeymap]),
      ]
    }
    return [
      ...always,
      history(),
      drawSelection(),
      highlightActiveLine(),
      closeBrackets(),
      autocompletion(),
      typedOver,
      placeholder(options.placeholder),
      keymap.of([submit, ...completionKeymap, ...historyKeymap, ...searchKeymap, ...foldKeymap, ...defaultKeymap]),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) options.changed(update.state.doc.toString())
      }),
    ]
  }

  get text(): string {
    return this.view.state.doc.toString()
  }

  replace(text: string) {
    if (text === this.text) return
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } })
  }

  useSchema(schema: SQLNamespace | undefined) {
    this.view.dispatch({ effects: this.language.reconfigure(languageOf({ ...this.options, schema })) })
  }

  focus() {
    this.view.focus()
  }

  close() {
    this.view.destroy()
  }
}
