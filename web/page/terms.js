// Explains terms while the mouse is over them, or while they have the focus. The list of terms at
// the end of the page has the texts.
const GAP = 6;

/** Turns each element with `data-term` into a button that shows the text of its term. */
export function explainTerms() {
  const tip = document.getElementById('tip');
  const hide = () => {
    tip.hidden = true;
  };
  const show = (button) => {
    const text = document.getElementById(button.getAttribute('aria-describedby'));
    tip.textContent = text.textContent.trim().replace(/\s+/g, ' ');
    tip.hidden = false;
    const box = button.getBoundingClientRect();
    const [width, height] = [tip.offsetWidth, tip.offsetHeight];
    const room = document.documentElement.clientWidth - width - GAP;
    tip.style.left = `${Math.max(GAP, Math.min(box.left, room))}px`;
    const below = box.bottom + GAP;
    tip.style.top = `${below + height > innerHeight ? box.top - height - GAP : below}px`;
  };
  for (const place of document.querySelectorAll('[data-term]')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'term';
    button.append(...place.childNodes);
    button.setAttribute('aria-describedby', `term-${place.dataset.term}`);
    button.addEventListener('mouseenter', () => show(button));
    button.addEventListener('mouseleave', hide);
    button.addEventListener('focus', () => show(button));
    button.addEventListener('blur', hide);
    place.replaceWith(button);
  }
  document.addEventListener('keydown', ({ key }) => key === 'Escape' && hide());
  document.addEventListener('scroll', hide, { passive: true });
}
